// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/comm/communicator.hpp"

namespace tandem::comm {

/// Elements [begin, end) that go from one rank to another.
struct Transfer {
  enum class Kind : std::uint8_t { copy, reduce };
  int from;
  int to;
  std::int64_t begin;
  std::int64_t end;
  Kind kind;
};

/// A collective as steps of transfers.
///
/// The transfers of a step happen at once: each reads what its source had before the step. What
/// several bring to the same elements, and what is there, is combined in rank order.
struct Schedule {
  std::vector<std::vector<Transfer>> steps;
};

/// What an algorithm is asked for. `count` and `segment` are in one unit: elements, or bytes.
struct Problem {
  Collective::Kind kind = Collective::Kind::all_reduce;
  int ranks = 1;
  std::int64_t count = 0;
  int root = 0;                    ///< of a broadcast or reduce
  std::int64_t segment = 1 << 15;  ///< the most that a transfer of a segmented algorithm has
  int group = 0;  ///< ranks of a group, or of a row of a torus; 0: the largest divisor of `ranks`
                  ///< up to its square root
};

/// What a schedule comes to on ranks that send and receive over one port each.
struct Cost {
  std::int64_t steps = 0;
  double sent = 0;  ///< by the rank that sends the most
  double path = 0;  ///< the sum over the steps of the most that one rank sends or receives in it

  /// The α-β model.
  ///
  /// @param alpha  seconds of a step.
  /// @param beta   seconds of a unit of `count`.
  double seconds(double alpha, double beta) const noexcept {
    return static_cast<double>(steps) * alpha + path * beta;
  }
};

/// Counts a schedule's steps and what its ranks send.
Cost cost_of(const Schedule& schedule, int ranks);

/// A way to carry out collectives. docs/algorithms.md draws each and says when to use it.
class Algorithm {
 public:
  /// What a file of src/comm/algorithms gives; each function gets problems that it has not refused.
  struct Definition {
    const char* name;
    std::span<const Collective::Kind> kinds;
    std::string (*refusal)(const Problem&);
    Schedule (*schedule)(const Problem&);  ///< for root 0
    Cost (*cost)(const Problem&);
  };
  constexpr explicit Algorithm(const Definition& definition) noexcept : own_(definition) {}
  Algorithm(const Algorithm&) = delete;
  Algorithm& operator=(const Algorithm&) = delete;

  const char* name() const noexcept { return own_.name; }
  bool has(Collective::Kind kind) const noexcept;

  /// Why it does not do that, and what does; "" if it does.
  std::string refusal(const Problem& problem) const;

  /// No steps where there is one rank, or no element.
  ///
  /// @throws InvalidArgument  see refusal.
  Schedule schedule(const Problem& problem) const;

  /// What the schedule comes to, in closed form: exact where all parts and segments are of one
  /// size.
  ///
  /// @throws InvalidArgument  see refusal.
  Cost cost(const Problem& problem) const;

 private:
  Definition own_;
};

/// All there are, the fastest on one host first.
std::span<const Algorithm* const> algorithms() noexcept;

/// @throws InvalidArgument  there is none of this name; the text lists those there are.
const Algorithm& algorithm(std::string_view name);

}  // namespace tandem::comm
