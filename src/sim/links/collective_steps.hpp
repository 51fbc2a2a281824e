// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "tandem/comm/algorithms.hpp"
#include "tandem/profile/step_record.hpp"

namespace tandem::sim {

/// What goes over links in one step of a collective. The next step comes after all of it.
struct CollectiveStep {
  /// Bytes from one GPU to another, of all transfers between the two.
  std::map<std::pair<int, int>, std::size_t> moved = {};
  /// What a GPU gets to add to its own values: the elements' bytes, by source and range.
  struct Added {
    int from;
    std::int64_t begin, end;  ///< bytes of the array, or of all arrays that are coalesced
  };
  std::map<int, std::vector<Added>> added = {};  ///< by the GPU that adds
};

/// The steps of collectives, by the algorithms that ran.
class CollectiveSteps {
 public:
  /// @param gpus  the numbers of those devices that are GPUs
  CollectiveSteps(const profile::StepRecord& record, const std::map<Device, int>& gpus);

  /// The steps of a collective, or of several coalesced ones. What has a schedule goes by it; the
  /// rest takes one step, in which each GPU sends what the record says.
  ///
  /// @param parts  GPU, and its part that begins, a number in record.work
  /// @throws InvalidArgument  a rank is missing, or no algorithm has the name.
  std::vector<CollectiveStep> of(std::uint64_t id,
                                 std::span<const std::pair<int, std::size_t>> parts) const;

 private:
  void add_scheduled(std::vector<CollectiveStep>& steps,
                     std::size_t first,
                     std::int64_t offset,
                     const profile::WorkSpan& span,
                     const std::vector<int>& gpu_of_rank) const;
  std::vector<CollectiveStep> recorded(std::uint64_t id) const;

  const profile::StepRecord& record_;
  const std::map<Device, int>& gpus_;
  std::map<std::uint64_t, std::vector<std::size_t>> transfers_;  // by exchange
};

}  // namespace tandem::sim
