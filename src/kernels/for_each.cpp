// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/for_each.hpp"

#include <algorithm>

#include "tandem/config.hpp"

namespace tandem::kernels {

std::int64_t tile_count(const HostStream& s, std::int64_t n, std::int64_t grain) noexcept {
  if (host_threads == HostThreads::none || s.threads <= 1) return 1;
  return std::clamp<std::int64_t>(n / grain, 1, s.threads);
}

}  // namespace tandem::kernels
