// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include "tandem/comm/communicator.hpp"
#include "tandem/parallel/exchange.hpp"

#include "parallel/ranks/rank_parameters.hpp"
#include "parallel/replicas/device/device_replica.hpp"

namespace tandem::parallel {

/// Parameters of which each rank has all: DDP. They are there all the time, so there is little to
/// do for them.
class WholeParameters final : public RankParameters {
 public:
  static constexpr const char* kWrapper = "DistributedDataParallel";

  /// Binds the replica's parameters as they are. The arguments outlive this object.
  ///
  /// @throws OutOfMemory  nothing is bound.
  WholeParameters(DeviceReplica& replica, comm::Communicator& comm, const Exchange& exchange);

  const char* wrapper() const noexcept override { return kWrapper; }
  MixedPrecisionPolicy precision() const override { return {}; }
  void check_unchanged() const override {}
  void send(int root) const override;
  void open() override {}
  void close(Changes) override {}

  void begin_forward(Context&) const override {}
  void end_forward() const override {}
  std::int64_t order_digest() const override { return 0; }
  void forget_order() const override {}

  BucketReducer::Groups groups() const noexcept override;
  void set_completion(std::function<void()>) override {}
  bool gives_up_failed_backwards() const noexcept override { return false; }
  void begin_backward() const override {}
  void note_earlier_gradients() override {}
  void end_reduction() const override {}
  void discard_backward() override {}

 private:
  DeviceReplica& replica_;
  comm::Communicator& comm_;
};

}  // namespace tandem::parallel
