// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Butterfly (recursive doubling): in step k each rank swaps all it has with the rank whose number
// differs in bit k, and both reduce.
//
//   0 1 2 3 4 5 6 7     step 0: 0-1 2-3 4-5 6-7
//                       step 1: 0-2 1-3 4-6 5-7
//                       step 2: 0-4 1-5 2-6 3-7
//
// all_reduce of S among N, a power of two: log2 N steps; log2 N S sent by each rank;
// log2 N (α + S β). The fewest steps of one port each: for small messages.
//
// Source: Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in
// MPICH", IJHPCA 19(1), 2005, section 4.5.

#include <bit>

#include "tandem/core/check.hpp"

#include "comm/algorithms/list.hpp"
#include "comm/algorithms/phases.hpp"

namespace tandem::comm {
namespace {

constexpr Collective::Kind kKinds[] = {Collective::Kind::all_reduce};

std::string refuse(const Problem& p) {
  if (std::has_single_bit(static_cast<unsigned>(p.ranks))) return "";
  return detail::concat("butterfly needs a number of ranks that is a power of two, not ",
                        p.ranks,
                        "; use halving_doubling, which takes any number");
}

Schedule make(const Problem& p) {
  Schedule schedule;
  for (int distance = 1, step = 0; distance < p.ranks; distance *= 2, ++step) {
    for (int r = 0; r < p.ranks; ++r)
      add(schedule, step, Transfer::Kind::reduce, r, r ^ distance, {0, p.count});
  }
  return schedule;
}

Cost price(const Problem& p) {
  const int steps = static_cast<int>(std::bit_width(static_cast<unsigned>(p.ranks))) - 1;
  const double moved = steps * static_cast<double>(p.count);
  return {steps, moved, moved};
}

}  // namespace

const Algorithm& butterfly() noexcept {
  static constexpr Algorithm own({"butterfly", kKinds, refuse, make, price});
  return own;
}

}  // namespace tandem::comm
