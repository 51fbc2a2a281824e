// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Recursive halving-doubling (Rabenseifner): a reduce-scatter in which each rank swaps half of what
// it still holds with a partner, at half the distance each time; then an all-gather the other way.
//
//   N = 4, parts a b c d      0        1        2        3
//   halving, distance 2:   keeps ab     ab       cd       cd
//            distance 1:         a      b        c        d
//   doubling, distance 1:       ab      ab       cd       cd
//             distance 2:     abcd    abcd     abcd     abcd
//
// all_reduce of S among N = 2^h: 2 h steps; 2 (N-1)/N S sent by each rank; 2 h α + 2 (N-1)/N S β.
// Few steps and the fewest bytes: the one to take for most sizes.
// Any other N, with P the power of two below: of the first 2 (N-P) ranks the even ones give all to
// their neighbours first, and get the result last: 2 more steps, S more sent, 2 (α + S β) more.
//
// Source: Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in
// MPICH", IJHPCA 19(1), 2005, section 4.5.

#include <bit>

#include "comm/algorithms/list.hpp"
#include "comm/algorithms/phases.hpp"

namespace tandem::comm {
namespace {

using Move = Transfer::Kind;
constexpr Collective::Kind kKinds[] = {Collective::Kind::all_reduce};

int power_below(int ranks) noexcept {
  return static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)));
}

/// Those that take part in halving and doubling.
std::vector<int> active_ranks(int ranks) {
  const int rest = ranks - power_below(ranks);
  std::vector<int> active;
  for (int r = 0; r < ranks; ++r)
    if (r >= 2 * rest || r % 2 == 1) active.push_back(r);
  return active;
}

/// The parts of the block of `distance` parts in which i lies.
Share block(const Problem& p, int parts, int i, int distance) noexcept {
  const int first = i / distance * distance;
  return {even_share(p.count, first, parts).begin,
          even_share(p.count, first + distance - 1, parts).end};
}

Schedule make(const Problem& p) {
  Schedule schedule;
  const int power = power_below(p.ranks), rest = p.ranks - power;
  const std::vector<int> active = active_ranks(p.ranks);
  std::int64_t step = 0;
  for (int r = 0; r < 2 * rest; r += 2)
    add(schedule, 0, Move::reduce, r, r + 1, {0, p.count});
  if (rest > 0) ++step;
  const auto swap = [&](Move move, int distance, auto sent) {
    for (int i = 0; i < power; ++i) {
      const int partner = i ^ distance;
      add(schedule,
          step,
          move,
          active[static_cast<std::size_t>(i)],
          active[static_cast<std::size_t>(partner)],
          block(p, power, sent(i, partner), distance));
    }
    ++step;
  };
  for (int distance = power / 2; distance >= 1; distance /= 2)
    swap(Move::reduce, distance, [](int, int partner) { return partner; });
  for (int distance = 1; distance < power; distance *= 2)
    swap(Move::copy, distance, [](int i, int) { return i; });
  for (int r = 0; r < 2 * rest; r += 2)
    add(schedule, step, Move::copy, r + 1, r, {0, p.count});
  return schedule;
}

Cost price(const Problem& p) {
  const int power = power_below(p.ranks);
  const double s = static_cast<double>(p.count), moved = 2.0 * (power - 1) / power * s;
  const std::int64_t steps = 2 * (std::bit_width(static_cast<unsigned>(power)) - 1);
  if (power == p.ranks) return {steps, moved, moved};
  return {steps + 2, moved + s, moved + 2 * s};
}

}  // namespace

const Algorithm& halving_doubling() noexcept {
  static constexpr Algorithm own({"halving_doubling", kKinds, refuse_none, make, price});
  return own;
}

}  // namespace tandem::comm
