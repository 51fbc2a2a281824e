// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "tandem/optim/arena.hpp"

#include "parallel/reduce/bucket_reducer.hpp"
#include "parallel/replicas/call/call.hpp"
#include "parallel/replicas/call/whole_batch.hpp"

namespace tandem::parallel {

/// The processes that take part in a call: this one alone, or several that train one module
/// together, each with replicas on its own devices and a part of each batch.
class Processes {
 public:
  virtual ~Processes() = default;

  virtual bool are_several() const noexcept = 0;
  /// How many of them share the cores of this host.
  virtual int here() const noexcept = 0;
  /// Gives all processes the values of process 0's module.
  ///
  /// @param arenas  of the module.
  /// @throws Desync  a process has another module.
  virtual void share(ReplicaSource& module,
                     const std::vector<std::shared_ptr<optim::Arena>>& arenas) const = 0;
  /// Makes it a call of all of them, of which this one may have no rows.
  virtual void enter(Call& call) const = 0;
  virtual void abort(const std::string& reason) const noexcept = 0;
  /// All processes call it after a failure.
  virtual void reset() const = 0;
  /// The loss of a step that all have agreed to.
  virtual WholeStep loss_of(const Call& call) const = 0;
  /// What the others are told of a part's failure. Those of this process get the error itself.
  virtual std::string failure_of(const Call::Part& part, const std::exception_ptr& error) const = 0;

  // What follows is called on a part's thread, and is collective: the threads of all devices of all
  // processes call it, in the same order.

  /// Tells the others how many rows a device has, which may be none.
  ///
  /// @param own   rows of the device.
  /// @param here  rows of this process.
  virtual WholeBatch exchange(const Call::Part& part,
                              std::int64_t own,
                              std::int64_t here) const = 0;
  /// The devices with rows, as the replicas of one batch. Tapes keep it.
  ///
  /// @param group  those of this process.
  virtual std::shared_ptr<RowGroup> row_group(const Call::Part& part,
                                              const ReplicaGroup& group) const = 0;
  /// The sum of a scalar over the devices that have rows.
  virtual Tensor sum(const Call& call, const Call::Part& part, const Tensor& x) const = 0;
  /// Notes in the part which places have a gradient in any process, if there are others.
  virtual void note_used(Call::Part& part, const std::vector<std::uint8_t>& used) const = 0;
  /// The vote of all devices, with their parts of the loss.
  virtual WholeStep agree(const Call::Part& part, const WholeStep& own) const = 0;
  /// Who reduces gradients with a device.
  ///
  /// @param are_alike  all devices get all gradients.
  virtual BucketReducer::Groups groups_of(const Call::Part& part, bool are_alike) const = 0;
  /// All devices that take part; to be used only where there are others than the part's.
  virtual comm::Communicator& all(const Call::Part& part) const = 0;
  /// Values of the devices with the part's index, those of process 0 first.
  virtual std::vector<std::int64_t> gather(const Call::Part& part,
                                           const std::vector<std::int64_t>& own) const = 0;
};

}  // namespace tandem::parallel
