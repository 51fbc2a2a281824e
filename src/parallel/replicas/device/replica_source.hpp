// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tandem/nn/module.hpp"
#include "tandem/optim/arena_layout.hpp"
#include "tandem/parallel/unit_policy.hpp"

namespace tandem::parallel {

/// The module of one replica, as a wrapper sees it: tensors that the wrapper reads and replaces,
/// and a state that replicas take from the module they are copies of.
///
/// ModuleSource is the source for tandem's own modules. Another library's modules have a source of
/// their own, which shows their memory as tandem's tensors. Their gradients reach those tensors by
/// autograd::accumulate, and their loss is one op on tandem's tape. So all else of a wrapper works
/// with them as it is. To be used while no call runs, by one thread at a time.
class ReplicaSource {
 public:
  /// `x` may be replaced. The module has the new tensor from then on.
  using TensorVisitor =
      std::function<void(const std::string& name, Tensor& x, nn::TensorKind kind)>;

  virtual ~ReplicaSource() = default;

  /// Calls `f` for every tensor, in an order that is the same in all replicas. A tied tensor comes
  /// once under each of its names.
  virtual void visit_tensors(const TensorVisitor& f) = 0;
  virtual bool is_training() const = 0;
  /// The paths of the parts whose parameters are gathered together.
  ///
  /// @throws InvalidArgument  the policy does not fit the module, or its memory is not tandem's.
  virtual std::vector<std::string> unit_paths(const UnitPolicy& policy) = 0;
  /// The buffers that a forward in training makes equal in all replicas that have rows.
  virtual std::vector<Tensor> equal_buffers() = 0;
  /// @throws InvalidArgument  the module, or a part of it, belongs to a wrapper that still lives.
  virtual void check_unwrapped() = 0;
  /// Marks the module and its parts as wrapped, for as long as `wrapper` lives.
  virtual void mark_wrapped(const std::shared_ptr<const void>& wrapper) = 0;
  /// Makes a replica follow what has changed in the module that it is a copy of: mode and hooks.
  ///
  /// @param original  of the same class as this source.
  /// @throws InvalidArgument  the module has more or fewer parts than its replica.
  virtual void follow(ReplicaSource& original) = 0;
};

/// The user's module, then its replicas, by device.
using ReplicaSources = std::vector<std::shared_ptr<ReplicaSource>>;
/// The sources of tandem's own modules, which outlive them.
ReplicaSources sources_of(const std::vector<nn::Module*>& modules);

/// The distinct tensors of one kind, each under its first name.
std::vector<optim::ArenaEntry> arena_entries(ReplicaSource& source, nn::TensorKind kind);
/// Gives each entry the unit that it is in, and the group that it had before.
///
/// @param units  paths (UnitPolicy::paths).
void assign_units(std::vector<optim::ArenaEntry>& entries, const std::vector<std::string>& units);

}  // namespace tandem::parallel
