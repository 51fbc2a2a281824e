// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "parallel/call.hpp"

namespace tandem::parallel {

/// Compares the replicas' parameters and buffers with device 0's, in every so many steps.
class DriftCheck {
 public:
  /// @param every  steps; 0: never.
  explicit DriftCheck(std::int64_t every) : every_(every) {}

  /// Asks for a comparison if it is this step's turn.
  void begin(Call& call) const;
  /// Notes the buffers that a replica begins with.
  static void hash_buffers(const Call& call, Call::Part& part);
  /// @throws ReplicaDrift  this replica has computed with other values than device 0's.
  void check(const Call& call, Call::Part& part) const;
  /// A step has been committed.
  void note_step() noexcept { ++steps_; }

 private:
  std::int64_t every_;
  std::int64_t steps_ = 0;  // that have been committed
};

}  // namespace tandem::parallel
