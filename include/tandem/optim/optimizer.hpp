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
struct Run;

}  // namespace detail

/// A state tensor that an optimizer keeps for each parameter, of the parameter's size.
struct StateSpec {
  std::string name;                           ///< "exp_avg"
  double fill = 0;                            ///< before the first step
  std::optional<DType> dtype = std::nullopt;  ///< none: the parameter's
};

/// Parts that one update may run over.
enum class Granularity : std::uint8_t {
  element,  ///< any range of elements, flat: parameters next to each other go in one
  tensor,   ///< one parameter, in its shape (LAMB and others that take norms)
};

/// What one update runs over: a part of the parameters on one device.
struct UpdateSlice {
  Tensor param;               ///< updated in place
  Tensor grad;                ///< same shape; not to be changed
  std::vector<Tensor> state;  ///< in the order of Optimizer::state(); updated in place
};

/// Named tensors and numbers that make an optimizer go on where another one stopped.
struct OptimizerState {
  /// "<parameter>.<state>": views of the optimizer's own memory, in the parameter's shape.
  std::map<std::string, Tensor> tensors;
  /// "<parameter>.step", "param_groups.<i>.<option>".
  std::map<std::string, double> numbers;
};

struct StepOptions {
  bool error_if_nonfinite =
      false;  ///< refuse gradients with infinities or NaN: costs a pass and a read
};

/// Updates parameters by their gradients; the base of all optimizers, and of users' own.
///
/// A user's optimizer says which state it keeps (state) and what one step does to a part of the
/// parameters (update). Where that part lies, on which device and how large, is the arena's
/// business: the optimizer looks up the arenas of its parameters at each step, so that it may be
/// made before or after they are wrapped for several devices.
///
/// Parameters that are in no arena yet are bound in one, by group, when the optimizer is made. A
/// parameter without gradient is passed over. Not thread-safe.
class Optimizer {
 public:
  virtual ~Optimizer();
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// prepare, then commit.
  ///
  /// @throws OutOfMemory, InvalidArgument  from prepare: nothing has changed.
  /// @throws what update threw: the parameters are half updated, restore a checkpoint.
  void step(StepOptions options = {});
  /// Does all of a step that may fail: checks, and allocates state that is not there yet.
  ///
  /// @throws OutOfMemory      nothing has changed.
  /// @throws InvalidArgument  a gradient is not finite (named); an earlier commit failed.
  void prepare(StepOptions options = {});
  /// Updates what prepare found; launches kernels only.
  ///
  /// @return what update threw, null where all went well. After an error the optimizer refuses to
  /// go on until load_state_dict.
  [[nodiscard]] std::exception_ptr commit() noexcept;
  /// What prepare found is updated, in part, by the devices of `sharing`.
  bool updates_through(const ArenaSharing& sharing) const;
  /// Of a commit that the devices' own threads make: updates what `device` has. Any number of
  /// devices may be at it at once.
  ///
  /// @return what update threw, null where all went well.
  [[nodiscard]] std::exception_ptr update_on(Device device) noexcept;
  /// Ends such a commit, when all devices are done; updates what is on none of them.
  ///
  /// @param error  of a device, null where all went well. @return as commit.
  [[nodiscard]] std::exception_ptr end_commit(std::exception_ptr error) noexcept;

  /// Makes grad() of all parameters undefined (PyTorch's set_to_none); the storage stays bound.
  void zero_grad();
  /// Options may be changed between steps.
  std::vector<ParamGroup>& param_groups() noexcept { return groups_; }
  const std::vector<ParamGroup>& param_groups() const noexcept { return groups_; }

  /// State of the parameters that have made a step.
  OptimizerState state_dict() const;
  /// Copies a state into this optimizer. Parameters that it does not name start anew.
  ///
  /// @throws InvalidArgument  names, shapes or dtypes differ (the first ten are listed), or an
  ///                          option is none that the optimizer takes. Nothing has changed.
  /// @throws OutOfMemory      nothing has changed.
  void load_state_dict(const OptimizerState& state);

 protected:
  /// @param name      for messages: "SGD".
  /// @param defaults  the options that groups have, with the values of those that do not set their
  /// own.
  /// @throws InvalidArgument  no parameters, an unknown option, a parameter twice or not a leaf.
  Optimizer(std::string name, const std::vector<GroupSpec>& groups, const Options& defaults);

  const std::string& name() const noexcept { return name_; }

  /// Refuses options that the optimizer cannot work with; all are welcome to one that does not say.
  ///
  /// load_state_dict calls it before anything changes; an own optimizer's constructor should, too.
  /// @throws InvalidArgument  the text has the option and its value.
  virtual void check_options(const ParamGroup& /*group*/) const {}
  /// The state tensors that parameters of `group` need with its present options.
  virtual std::vector<StateSpec> state(const ParamGroup& group) const = 0;
  /// One step over `slice`, in no_grad mode. Launches kernels (dispatch, or ops in place) and
  /// should not allocate: what it throws leaves a half-made step.
  ///
  /// Where devices update together (DataParallel's modes sharded and ddp), each runs it on its own
  /// part or copy, on its own thread: it changes nothing but the slice.
  ///
  /// @param t  steps of these parameters, this one included: from 1.
  virtual void update(const UpdateSlice& slice, const ParamGroup& group, std::int64_t t) = 0;
  /// Optimizers of tensors update where the parameters are, also where devices have shares of them
  /// (mode sharded), or on each device that has a copy (mode ddp).
  virtual Granularity granularity() const { return Granularity::element; }

 private:
  std::vector<std::vector<StateSpec>> specs(const std::vector<ParamGroup>& groups) const;
  void check_finite() const;
  void update_run(detail::Run& run);

  std::string name_;
  std::vector<ParamGroup> groups_;
  std::unique_ptr<detail::StateLayout> layout_;
  bool poisoned_ = false;
};

}  // namespace tandem::optim
