// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "tandem/optim/arena.hpp"

#include "parallel/reduce/bucket_reducer.hpp"
#include "parallel/replicas/device/replica_source.hpp"
#include "parallel/units/awake_blocks.hpp"
#include "parallel/units/sleeping_blocks.hpp"

namespace tandem::parallel {

/// The versions of an arena's values, by block.
std::vector<std::uint64_t> block_versions(const optim::Arena& arena);

/// One device's copy of a module: the storage of its parameters, the reduction of their gradients,
/// and the buffers that it writes. DataParallel has one for each device, and a rank of
/// DistributedDataParallel has its own.
///
/// The functions that begin a backward are called on the device's own thread, the others on the
/// caller's thread while no call runs.
class DeviceReplica {
 public:
  /// @param index  the device's index in the wrapper; device 0 owns the module.
  /// @param source  the replica's module.
  DeviceReplica(int index, Device device, std::shared_ptr<ReplicaSource> source);
  DeviceReplica(int index, Device device, nn::Module& module);
  ~DeviceReplica() { unwatch_gradients(); }
  DeviceReplica(const DeviceReplica&) = delete;
  DeviceReplica& operator=(const DeviceReplica&) = delete;

  int index() const noexcept { return index_; }
  Device device() const noexcept { return device_; }
  ReplicaSource& source() const noexcept { return *source_; }
  /// Marks the leaves of this replica's tapes. See Note [Tapes of replicas].
  std::uint64_t realm() const noexcept { return realm_; }
  const std::shared_ptr<optim::Arena>& parameters() const noexcept { return parameters_; }
  BucketReducer* reducer() const noexcept { return reducer_.get(); }

  void bind_parameters(std::shared_ptr<optim::Arena> parameters);
  /// Makes the reducer of the parameters' gradients, which replaces an earlier one.
  void reduce_by(std::shared_ptr<const std::vector<Bucket>> buckets, Reduction reduction);
  /// Lets the blocks of the parameters sleep from now on. Call it after reduce_by.
  void let_sleep(std::shared_ptr<SleepingBlocks> blocks);
  /// The blocks of the parameters.
  ReplicaBlocks& blocks() const noexcept { return *blocks_; }
  /// Tells the reducer about each gradient that a backward makes. Calls `then` before that.
  void watch_gradients(const std::function<void()>& then = nullptr);
  void unwatch_gradients() noexcept;
  /// Stops watching the gradients, and releases the parameters.
  void release_parameters();

  /// Prepares the gradients for `backwards` backwards, the last of which reduces them.
  ///
  /// @param used  fresh: on all devices but device 0 the gradients begin from nothing.
  void arm(const BucketReducer::Groups& groups, std::int64_t backwards, GradientTally::Used used);
  /// Drops the gradients.
  void drop_gradients() const;
  /// By block, whether any of its tensors has a gradient.
  std::vector<std::uint8_t> blocks_with_gradients() const;
  /// Forgets a backward that failed.
  void disarm() noexcept;

  /// What this device last received, which tells what it lacks.
  struct Received {
    std::vector<std::uint64_t> parameters;  ///< versions of device 0's, by block; empty: none
    std::vector<std::uint64_t> buffers;     ///< versions of the module's, by block; empty: none
  };
  Received received;
  /// The buffers that the replica reads and writes in a call.
  std::shared_ptr<optim::Arena> buffers;

 private:
  /// No parameters, and so no gradients to reduce.
  void hold_nothing();

  int index_;
  Device device_;
  std::shared_ptr<ReplicaSource> source_;
  std::uint64_t realm_;
  std::shared_ptr<optim::Arena> parameters_;
  std::unique_ptr<BucketReducer> reducer_;
  std::shared_ptr<ReplicaBlocks> blocks_ = std::make_shared<AwakeBlocks>();
  bool watches_ = false;
};

}  // namespace tandem::parallel
