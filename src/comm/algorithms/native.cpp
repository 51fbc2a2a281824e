// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Native: what carries data between processes does the collective by its own algorithm: gloo's ring
// or binary blocks, MPI_Iallreduce, MPI_Ireduce and MPI_Ibcast. Each process adds up its own ranks
// first. The order of addition is the library's, so bits depend on it and on its version.
//
// Among the ranks of one process, and wherever the library lacks the collective, dtype or
// reduction, it is direct, whose schedule it has. Minima and maxima of floats are, too: the
// library's lose a NaN.

#include "comm/algorithms/list.hpp"

namespace tandem::comm {
namespace {

using Kind = Collective::Kind;
constexpr Kind kKinds[] = {Kind::all_reduce, Kind::broadcast, Kind::reduce};

Problem at_root_0(Problem p) {
  p.root = 0;
  return p;
}

Schedule make(const Problem& p) {
  return direct().schedule(at_root_0(p));
}

Cost price(const Problem& p) {
  return direct().cost(at_root_0(p));
}

}  // namespace

const Algorithm& native() noexcept {
  static constexpr Algorithm own({"native", kKinds, refuse_none, make, price});
  return own;
}

}  // namespace tandem::comm
