// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/optim/param_group.hpp"
#include "tandem/tensor/tensor.hpp"

namespace tandem::optim {

class ArenaSharing;

namespace detail {

class StateLayout;
class StateLoad;
class StateSave;
struct RunUpdate;

}  // namespace detail

/// A state tensor that an optimizer keeps for each parameter. It has the parameter's size.
struct StateSpec {
  std::string name;                           ///< for example "exp_avg"
  double fill = 0;                            ///< value before the first step
  std::optional<DType> dtype = std::nullopt;  ///< not set: the parameter's dtype
};

/// A number that an optimizer keeps for each parameter, as the base keeps the count of its steps.
struct NumberSpec {
  std::string name;  ///< for example "mu_product"
  double start = 0;  ///< value before the first step
  double least = 0;  ///< a saved value may be from `least`
  double most = 0;   ///< to `most`, both included
};

/// What one update may run over.
enum class Granularity : std::uint8_t {
  element,  ///< any flat range of elements; adjacent parameters are updated together
  tensor,   ///< one parameter in its shape (LAMB and others that take norms)
};

/// The part of the parameters on one device that one update runs over.
struct UpdateSlice {
  Tensor param;               ///< updated in place
  Tensor grad;                ///< of the same shape; must not be changed
  std::vector<Tensor> state;  ///< in the order of Optimizer::state(); updated in place
  /// In the order of Optimizer::numbers(), and the same for all parameters of the slice.
  std::vector<double> numbers = {};
};

/// Named tensors and numbers with which an optimizer continues where another one stopped.
struct OptimizerState {
  /// "<parameter>.<state>", in the parameter's shape. Tensors of Optimizer::state_dict are views of
  /// the optimizer's memory, or copies if several devices share the update.
  std::map<std::string, Tensor> tensors;
  /// "<parameter>.step", "<parameter>.<number>", "param_groups.<i>.<option>".
  std::map<std::string, double> numbers;
};

/// What Optimizer::step does besides the update.
struct OptimizerStepOptions {
  /// Throw if a gradient has an infinity or NaN; costs a pass over them and a read of each device.
  bool error_if_nonfinite = false;
};

/// Updates parameters by their gradients. The base of all optimizers, including users' own.
///
/// A derived optimizer says which state it keeps (state) and what one step does to a part of the
/// parameters (update). The arena decides where that part lies, on which device, and how large it
/// is. An optimizer looks up the arenas of its parameters at each step, so it may be made before or
/// after they are wrapped for several devices.
///
/// Parameters that are in no arena yet are bound in one, by group, when the optimizer is made.
/// Parameters without a gradient are skipped. Not thread-safe.
class Optimizer {
 public:
  virtual ~Optimizer();
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// Calls prepare, then commit.
  ///
  /// @throws OutOfMemory, InvalidArgument  from prepare; nothing has changed.
  /// @throws  what update threw; the parameters are half updated, so restore a checkpoint.
  void step(OptimizerStepOptions options = {});
  /// Does the parts of a step that may fail: runs checks, and allocates state that is missing.
  ///
  /// @throws OutOfMemory      nothing has changed.
  /// @throws InvalidArgument  if a gradient is not finite and error_if_nonfinite is set (the
  ///                          message names the parameter), an earlier commit failed, or a
  ///                          parameter is no longer f32 or f64.
  void prepare(OptimizerStepOptions options = {});
  /// Updates what prepare found. It only launches kernels.
  ///
  /// @return  what update threw, or null. After an error the optimizer refuses to continue until
  ///          load_state_dict.
  [[nodiscard]] std::exception_ptr commit() noexcept;
  /// What prepare found is not updated: gives the memory back that was reserved for it.
  void cancel() noexcept;
  /// Whether the devices of `sharing` take part in updating what prepare found.
  bool updates_through(const ArenaSharing& sharing) const;
  /// One device's part of a commit that the devices' own threads make: updates what `device` holds.
  /// Any number of devices may call it at once.
  ///
  /// @return  what update threw, or null.
  [[nodiscard]] std::exception_ptr update_on(Device device) noexcept;
  /// Ends such a commit when all devices are done, and updates what none of them has updated.
  ///
  /// @param error  a device's error, or null; after an error nothing more is updated
  /// @return  as commit.
  [[nodiscard]] std::exception_ptr end_commit(std::exception_ptr error) noexcept;

  /// Makes grad() of all parameters undefined (PyTorch's set_to_none). The storage stays bound.
  void zero_grad();
  /// Options may be changed between steps.
  std::vector<ParamGroup>& param_groups() noexcept { return groups_; }
  const std::vector<ParamGroup>& param_groups() const noexcept { return groups_; }

  /// The state of all parameters that have made a step, and the options of all groups. Where ranks
  /// have shares of the parameters (FullyShardedDataParallel), every rank calls it, and gets all.
  OptimizerState state_dict() const;
  /// Copies a state into this optimizer. Parameters that the state does not name start anew.
  ///
  /// @throws InvalidArgument  if names, shapes or dtypes differ (the first ten are listed), or the
  ///                          optimizer refuses an option. Nothing has changed.
  /// @throws OutOfMemory      nothing has changed.
  void load_state_dict(const OptimizerState& state);

 protected:
  /// @param name      for messages, for example "SGD"
  /// @param defaults  the options that groups have, with the values for groups that do not set them
  /// @throws InvalidArgument  if there are no parameters, an option is unknown, a parameter is not
  ///                          a leaf, is in two groups or is neither f32 nor f64, or two parameters
  ///                          have the same name.
  Optimizer(std::string name, const std::vector<GroupSpec>& groups, const Options& defaults);

  const std::string& name() const noexcept { return name_; }

  /// Refuses options that the optimizer cannot work with. The default accepts all.
  ///
  /// load_state_dict calls it before anything changes. The constructor of a derived optimizer
  /// should call it, too.
  /// @throws InvalidArgument  if an option is refused; the message has the option and its value.
  virtual void check_options(const ParamGroup& /*group*/) const {}
  /// The state tensors that parameters of `group` need with its present options.
  virtual std::vector<StateSpec> state(const ParamGroup& group) const = 0;
  /// The numbers that each parameter needs besides the count of its steps. The default has none.
  virtual std::vector<NumberSpec> numbers() const { return {}; }
  /// What numbers() become in step `t`. prepare calls it, and update gets the result in its slice.
  ///
  /// @param before  those that the parameters had after step `t` - 1, in the order of numbers()
  /// @return  as many.
  virtual std::vector<double> next_numbers(const std::vector<double>& before,
                                           const ParamGroup& /*group*/,
                                           std::int64_t /*t*/) const {
    return before;
  }
  /// Makes one step over `slice`, in no_grad mode. It launches kernels (by dispatch or in-place
  /// ops) and should not allocate, because an exception leaves a step half made.
  ///
  /// If devices update together (DataParallel's modes sharded and ddp), each runs this function on
  /// its own part or copy, on its own thread. It must change only the slice.
  /// @param t  the number of steps of these parameters, including this one; from 1
  virtual void update(const UpdateSlice& slice, const ParamGroup& group, std::int64_t t) = 0;
  /// With Granularity::tensor, the update runs on the parameters' device even if the devices have
  /// shares (mode sharded), or on each device that has a copy (mode ddp).
  virtual Granularity granularity() const { return Granularity::element; }

 private:
  friend class detail::StateLoad;
  friend class detail::StateSave;
  std::vector<std::vector<StateSpec>> specs(const std::vector<ParamGroup>& groups) const;
  void check_finite() const;
  /// @throws InvalidArgument  whole parameters are needed, and ranks have shares of one.
  void check_whole() const;
  void advance_numbers(detail::RunUpdate& run_update) const;
  void apply(detail::RunUpdate& run_update);

  std::string name_;
  std::vector<ParamGroup> groups_;
  std::unique_ptr<detail::StateLayout> layout_;
  bool poisoned_ = false;
};

}  // namespace tandem::optim
