// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/parallel/replica_error.hpp"

#include <utility>

#include "tandem/core/check.hpp"

#include "parallel/errors/failures.hpp"

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
  return s + also(others, cause);
}

/// What the wrapper can do about an error besides what its text says.
std::string remedy(const std::exception_ptr& error, const Replica& replica) {
  if (replica.rows.end <= replica.rows.begin) return "";
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    if (find_cause<OutOfMemory>(e) == nullptr) return "";
  } catch (...) {
    return "";
  }
  return replica.index == 0 ? "; gpu0_bsz gives the first device fewer rows"
                            : "; chunk_sizes, or a larger gpu0_bsz, gives this device fewer rows";
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

void throw_replica_error(std::vector<std::exception_ptr> errors,
                         const std::vector<Replica>& replicas,
                         const std::vector<Phase>& phases) {
  const std::size_t first = cause_among(errors);
  std::vector<std::string> others;
  for (const std::size_t r : other_causes(errors, first))
    others.push_back(tandem::detail::concat(replicas[r].device, ": ", describe(errors[r])));
  const Replica& failed = replicas[first];
  const std::string cause = describe(errors[first]) + remedy(errors[first], failed);
  try {
    std::rethrow_exception(std::exchange(errors[first], nullptr));
  } catch (...) {
    throw ReplicaError(
        failed.device, failed.index, failed.rows, phases[first], cause, std::move(others));
  }
}

}  // namespace tandem::parallel
