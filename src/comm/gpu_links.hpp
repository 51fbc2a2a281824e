// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "tandem/runtime/stream.hpp"

#include "comm/rank_table.hpp"

namespace tandem::comm {

/// The GPUs of a group's ranks, and copies between them. Thread-safe.
class GpuLinks {
 public:
  explicit GpuLinks(const RankTable& ranks) : ranks_(ranks) {}

  int size() const noexcept { return ranks_.size(); }
  const LogicalDevice& device(int rank) const;
  /// What a rank's share of collectives is queued on.
  Stream& side_stream(int rank) const;
  /// Whether a rank's GPU reads and writes the memory of another's.
  bool reaches(int rank, int other) const;
  /// Whether no rank's GPU reaches that of another one of these.
  bool are_apart(const std::vector<int>& ranks) const;
  /// Copies to a GPU that does not reach the source. It begins after the work of both side streams,
  /// and both go on after it. The first one that goes through the host says so.
  void copy(const void* from, int from_rank, void* to, int to_rank, std::size_t nbytes) const;

 private:
  int gpu_of(int rank) const;

  const RankTable& ranks_;
};

}  // namespace tandem::comm
