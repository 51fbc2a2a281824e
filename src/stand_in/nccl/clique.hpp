// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "stand_in/machine/machine.hpp"

namespace tandem::stand_in {

/// A rank's part of a collective.
struct Part {
  enum class Kind : std::uint8_t { broadcast, reduce, all_reduce, all_gather, reduce_scatter };

  const char* name;  // of the call
  Kind kind;
  const void* from;
  void* to;
  std::size_t count;
  int type, op, root;
  CUstream_st* stream = nullptr;
};

/// The communicators that NCCL made at once: their ranks' parts meet here, the first of each, the
/// second of each, and so on.
class Clique {
 public:
  explicit Clique(std::size_t ranks) : queued_(ranks) {}

  std::size_t ranks() const { return queued_.size(); }
  /// Once all ranks have come with a part: their streams meet, one does the work, all go on.
  void give(Machine& m, std::size_t rank, const Part& part);
  /// Whether all parts of the rank were met.
  bool has_met(std::size_t rank) const { return queued_[rank].empty(); }

 private:
  static void check(Machine& m, const std::vector<Part>& parts);
  static void launch(Machine& m, const std::vector<Part>& parts);
  static void run(Machine& m, const std::vector<Part>& parts);

  std::vector<std::deque<Part>> queued_;  // by rank
};

}  // namespace tandem::stand_in
