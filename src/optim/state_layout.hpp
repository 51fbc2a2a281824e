// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tandem/optim/arena.hpp"
#include "tandem/optim/arena_sharing.hpp"
#include "tandem/optim/optimizer.hpp"

namespace tandem::optim::detail {

/// One parameter of the optimizer.
struct Member {
  std::string name;
  Tensor tensor;
  std::size_t group = 0;
  std::int64_t steps = 0;
  std::vector<double> numbers;  // empty before the first step
  // Where it was at the last refresh; the arena may be gone by now.
  std::weak_ptr<Arena> arena;
  std::weak_ptr<ArenaSharing> sharing;
  std::size_t place = 0;
  ArenaPlace at;
  std::vector<std::size_t> runs;  // several where devices share the arena
};

struct StateTensor {
  StateSpec spec;
  Tensor flat;  // of the run's length
};

/// Parameters of one group that stand next to each other in a slice of an arena, and their state.
/// The first and the last may reach beyond it.
struct ParameterRun {
  std::weak_ptr<Arena> arena;
  std::size_t slice = 0;
  Device device;  // that updates them
  Device home;    // where they are
  int block = 0;
  DType dtype = DType::f32;
  std::size_t group = 0;
  std::int64_t begin = 0;  // elements of the block
  std::int64_t end = 0;
  std::vector<std::size_t> members;  // by offset
  std::vector<StateTensor> state;

  /// Null: it is not allocated.
  const StateTensor* find(const std::string& name) const noexcept;
  /// Begin and end of what it has of a parameter's elements, as elements of the block.
  std::pair<std::int64_t, std::int64_t> part_of(const ArenaPlace& at) const noexcept;
  bool has_all_of(const ArenaPlace& at) const noexcept;
};

/// Members [first, last) of a run that make their step number `t` together, from equal numbers.
struct RunUpdate {
  std::size_t run = 0;
  std::size_t first = 0;
  std::size_t last = 0;
  std::int64_t t = 0;
  Device device = {};
  UpdateSlice slice = {};
  std::uint8_t done = 0;  // no bool: devices set theirs at once
};

/// Which of an optimizer's parameters lie where, and the state that goes with them.
class StateLayout {
 public:
  using Specs = std::vector<std::vector<StateSpec>>;  // by group

  explicit StateLayout(const std::vector<ParamGroup>& groups);

  std::vector<Member>& members() noexcept { return members_; }
  const std::vector<Member>& members() const noexcept { return members_; }
  const std::vector<ParameterRun>& runs() const noexcept { return runs_; }
  /// Members that have no numbers get these.
  void start_numbers(const std::vector<double>& numbers);
  /// Each parameter of `updates` has made a step, and has the numbers of its slice.
  void count_steps(const std::vector<RunUpdate>& updates) noexcept;

  /// Follows parameters that were bound in another arena since, or are shared by other devices,
  /// with their state; binds those that are in none.
  ///
  /// @param granularity  tensor: parameters stay whole, on their own device or on the one that has
  ///                     all of them.
  void refresh(Granularity granularity);
  /// Brings the gradients to where they are used.
  void settle_gradients();
  /// Devices that share the update of arenas, each once.
  std::vector<std::shared_ptr<ArenaSharing>> sharings() const;
  /// The updates of parameters that have a gradient, without state, with the numbers as they are.
  std::vector<RunUpdate> updates() const;
  /// Allocates the state that the runs of `wanted` lack. Nothing has changed where memory is
  /// short.
  void allocate(const Specs& specs, const std::vector<bool>& wanted);
  /// Gives each update its part of the state.
  void attach_state(std::vector<RunUpdate>& updates, const Specs& specs) const;
  /// A parameter's part of its state, in its shape; undefined where it is not allocated. A view, or
  /// a copy where devices share it. Collective where ranks do.
  Tensor state(const Member& member, const std::string& name) const;
  /// The type in which a parameter is updated: that of its masters, where ranks have shares of it.
  static DType updated_dtype(const Member& member);
  /// Ranks that have shares of a parameter; null: there are none.
  static std::shared_ptr<ArenaSharing> ranks_of(const Member& member);
  /// Counts the steps of parameters of which other ranks have all elements. Collective where ranks
  /// share some.
  void learn_steps();
  /// `value` of a parameter's state as it lies in its place: a view where it lies so already.
  static Tensor flat_state(const Member& member, const Tensor& value);
  /// Fills a parameter's part of its state, which is allocated. @param flat  see flat_state.
  void set_state(const Member& member, const std::string& name, const Tensor& flat);
  /// The same, as before the first step; where it is not allocated, nothing.
  void fill_state(const Member& member, const StateSpec& spec);

  std::vector<RunUpdate> prepared;              ///< the updates of the step that is prepared
  std::vector<std::shared_ptr<void>> reserved;  ///< memory that they will use, by device

 private:
  void bind_loose() const;
  bool moved() const;
  void rebuild();
  /// Who makes updates of this granularity together with the arena's own device; null: nobody.
  std::shared_ptr<ArenaSharing> sharing_of(const Arena& arena) const;
  UpdateSlice slice_of(const RunUpdate& update, const std::vector<ArenaSlice>& slices) const;
  std::vector<ArenaSlice> slices_of(const Arena& arena) const;

  std::vector<Member> members_;
  std::vector<ParameterRun> runs_;
  Granularity granularity_ = Granularity::element;
};

}  // namespace tandem::optim::detail
