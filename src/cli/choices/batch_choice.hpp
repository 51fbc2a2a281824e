// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tandem/parallel/options.hpp"

namespace CLI {
class App;
}

namespace tandem::cli {

/// The rows of a batch, and how a step cuts them.
struct BatchChoice {
  std::int64_t rows = 0;             ///< that were asked for; 0: by the data
  std::int64_t samples = INT64_MAX;  ///< of the training set, once it is known
  std::string chunks = "even";
  std::string on_oom = "error";
  std::optional<std::int64_t> gpu0_bsz;
  std::vector<std::int64_t> chunk_sizes;
  std::int64_t accumulate = 1;
  std::int64_t bitwise_leaves = 0;

  void add_flags(CLI::App& app);
  /// The rows that a full batch really has.
  std::int64_t full_batch() const { return std::min(rows, samples); }
  /// Whether the rows of each device are found by steps without effect.
  bool is_planned() const noexcept { return chunks.starts_with("planned"); }
  /// None: even, or as chunk_sizes and gpu0_bsz say.
  std::optional<parallel::ChunkPolicy> policy() const;
  parallel::OnOutOfMemory on_out_of_memory() const;
  /// The option that needs DataParallel::step, with the loss in the replica; empty: none.
  std::string option_of_step() const;
  /// For machines that are simulated, and shape-only devices.
  /// @throws UsageError  rows are to go by times, which are this machine's.
  void check_simulated() const;
  /// @throws UsageError  two options contradict each other, or chunk sizes do not fit.
  void check(std::size_t devices) const;
};

}  // namespace tandem::cli
