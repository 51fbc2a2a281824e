// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "sim/links/library_times.hpp"

#include <algorithm>

#include "tandem/sim/path.hpp"

namespace tandem::sim {

using Kind = comm::Collective::Kind;

double LibraryTimes::seconds(std::optional<Kind> kind, int ranks, std::size_t nbytes) {
  if (!kind || ranks < 2 || nbytes == 0) return 0;
  switch (*kind) {
    case Kind::all_reduce:
    case Kind::reduce_scatter:
    case Kind::all_gather:
    case Kind::broadcast:
    case Kind::reduce:
      return models_.try_emplace(ranks, cluster_, ranks).first->second.time(*kind, nbytes).seconds;
    default: {
      const Path way = path(cluster_, 1, 0);
      const bool is_message = *kind == Kind::send || *kind == Kind::recv;
      const double part = is_message ? 1 : static_cast<double>(ranks - 1) / ranks;
      return way.latency() + static_cast<double>(nbytes) * part / way.bandwidth();
    }
  }
}

double LibraryTimes::seconds_alone(std::optional<Kind> kind, int ranks, std::size_t nbytes) {
  const double together = seconds(kind, ranks, nbytes);
  const double call = std::min(together, cluster_.collectives.ring.alpha0);
  return call + (together - call) * ranks;
}

}  // namespace tandem::sim
