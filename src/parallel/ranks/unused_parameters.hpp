// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tandem/comm/communicator.hpp"
#include "tandem/optim/arena_layout.hpp"
#include "tandem/parallel/detail/rank_replica.hpp"

namespace tandem::parallel {

/// The parameters that a rank's loss does not depend on: whether the options allow them, and
/// whether the loss of another rank depends on them.
///
/// To be used on the rank's thread.
class UnusedParameters {
 public:
  /// The arguments must outlive this object.
  UnusedParameters(const DistributedDataParallelOptions& options,
                   comm::Communicator& comm,
                   const optim::ArenaLayout& layout)
      : options_(options), comm_(comm), layout_(layout) {}

  /// Checks a backward of this rank before its reduction is completed.
  ///
  /// @param missing  places without a gradient.
  /// @throws InvalidArgument  the options do not allow them; the text has their names.
  void check(const std::vector<std::size_t>& missing);
  /// Says, by place, whether some rank has made a gradient. It asks the ranks if the options
  /// require it, and then it is collective.
  ///
  /// @param used  by place: 1 if this rank has made a gradient.
  std::vector<std::uint8_t> used_anywhere(const std::vector<std::uint8_t>& used);

 private:
  void check_same_as_first(const std::vector<std::size_t>& missing);

  const DistributedDataParallelOptions& options_;
  comm::Communicator& comm_;
  const optim::ArenaLayout& layout_;
  // What the first backward found, under static_graph:
  std::optional<std::vector<std::uint8_t>> static_used_;    // by place: used by some rank
  std::optional<std::vector<std::size_t>> static_missing_;  // places not used on this rank
};

}  // namespace tandem::parallel
