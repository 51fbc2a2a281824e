// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tandem::parallel {

/// Where the replicas' gradients are added up, and when.
struct Reduction {
  enum class To : std::uint8_t {
    rank_0,  ///< each bucket to rank 0
    shares,  ///< each rank gets its share of each bucket
    all,     ///< each bucket to every rank
  };
  To to = To::rank_0;
  /// True: buckets wait until backward has ended. False: each starts as soon as it is complete.
  bool at_end = false;
};

}  // namespace tandem::parallel
