// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "parallel/replicas/call/call.hpp"

namespace tandem::parallel {

/// Compares the replicas' parameters and buffers with device 0's, once every `every` steps.
class DriftCheck {
 public:
  /// @param every  number of steps between comparisons; 0: never.
  explicit DriftCheck(std::int64_t every) : every_(every) {}

  /// Requests a comparison if this step is due for one.
  void begin(Call& call) const;
  /// Notes the hashes of the buffers that a replica begins with.
  static void hash_buffers(const Call& call, Call::Part& part);
  /// @throws ReplicaDrift  this replica has computed with other values than device 0's, or this
  ///                       process with others than process 0's.
  void check(const Call& call, Call::Part& part) const;
  /// A step has been committed.
  void note_step() noexcept { ++steps_; }

 private:
  void check_processes(const Call& call, const Call::Part& part) const;

  std::int64_t every_;
  std::int64_t steps_ = 0;  // committed so far
};

}  // namespace tandem::parallel
