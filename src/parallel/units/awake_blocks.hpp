// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "parallel/units/replica_blocks.hpp"

namespace tandem::parallel {

/// Blocks that have their memory all the time: nothing is to be done for them.
class AwakeBlocks final : public ReplicaBlocks {
 public:
  bool may_sleep() const noexcept override { return false; }
  void keep_values(bool) noexcept override {}
  void begin_backward(std::vector<std::uint8_t>) override {}
  void set_writes(Writes) noexcept override {}
  void check_unwritten() override {}
  void discard_gradients(bool) override {}
  void end_job(Ending) override {}
  void sleep() override {}
  void sleep_values() override {}
  void wake_for_good() override {}
};

}  // namespace tandem::parallel
