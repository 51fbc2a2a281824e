// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/units/replica_blocks.hpp"

#include <exception>

namespace tandem::parallel {

SleepAtEnd::SleepAtEnd(ReplicaBlocks& blocks) noexcept
    : blocks_(blocks), exceptions_(std::uncaught_exceptions()) {
  blocks_.set_writes(ReplicaBlocks::Writes::refused);
}

SleepAtEnd::~SleepAtEnd() {
  using enum ReplicaBlocks::Ending;
  try {
    blocks_.end_job(std::uncaught_exceptions() > exceptions_ ? failed : well);
  } catch (...) {  // its device is lost, and whoever uses it will hear of it
  }
}

}  // namespace tandem::parallel
