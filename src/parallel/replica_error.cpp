// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/parallel/replica_error.hpp"

#include <utility>

#include "tandem/core/check.hpp"

namespace tandem::parallel {
namespace {

std::string text(Device device,
                 int replica,
                 RowRange rows,
                 Phase phase,
                 const std::string& cause,
                 const std::vector<std::string>& others) {
  std::string s = tandem::detail::concat("replica ",
                                         replica,
                                         " on ",
                                         device,
                                         " (rows ",
                                         rows.begin,
                                         " to ",
                                         rows.end,
                                         ", ",
                                         phase,
                                         "): ",
                                         cause);
  for (const std::string& other : others)
    s += "\n  also " + other;
  return s;
}

}  // namespace

ReplicaError::ReplicaError(Device d,
                           int r,
                           RowRange range,
                           Phase p,
                           const std::string& cause,
                           std::vector<std::string> more)
    : Error(text(d, r, range, p, cause, more)),
      device(d),
      replica(r),
      rows(range),
      phase(p),
      others(std::move(more)) {}

}  // namespace tandem::parallel
