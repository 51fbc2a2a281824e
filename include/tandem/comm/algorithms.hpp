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

/// Elements [begin, end) that are sent from one rank to another.
struct Transfer {
  enum class Kind : std::uint8_t { copy, reduce };
  int from;
  int to;
  std::int64_t begin;
  std::int64_t end;
  Kind kind;
};

/// A collective as a sequence of steps, each of which is a list of transfers.
///
/// The transfers of a step happen at once: each reads what its source held before the step. If
/// several transfers bring values to the same elements, these and the values already there are
/// combined in rank order.
struct Schedule {
  std::vector<std::vector<Transfer>> steps;
};

/// The task of an algorithm. `count` and `segment` are in the same unit: elements or bytes.
struct Problem {
  Collective::Kind kind = Collective::Kind::all_reduce;
  int ranks = 1;
  std::int64_t count = 0;
  int root = 0;                    ///< the root of a broadcast or reduce
  std::int64_t segment = 1 << 15;  ///< the largest transfer of a segmented algorithm
  int group = 0;  ///< ranks in a group, or in a row of a torus; 0: the largest divisor of `ranks`
                  ///< that is at most its square root
};

/// The cost of a schedule if each rank sends and receives over one port.
struct Cost {
  std::int64_t steps = 0;
  double sent = 0;  ///< what the rank that sends the most sends
  double path = 0;  ///< the sum, over the steps, of the most that any rank sends or receives

  /// The time by the α-β model.
  ///
  /// @param alpha  seconds for each step.
  /// @param beta   seconds for each unit of `count`.
  double seconds(double alpha, double beta) const noexcept {
    return static_cast<double>(steps) * alpha + path * beta;
  }
};

/// Computes the cost of a schedule by counting its steps and what its ranks send.
Cost cost_of(const Schedule& schedule, int ranks);

/// A way to carry out collectives. docs/algorithms.md draws each one and says when to use it.
class Algorithm {
 public:
  /// What a file in src/comm/algorithms provides. `schedule` and `cost` get only problems that
  /// `refusal` accepts.
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

  /// Why the algorithm cannot do `problem`, and what to use instead; "" if it can.
  std::string refusal(const Problem& problem) const;

  /// The schedule. It has no steps if there is one rank or no element.
  ///
  /// @throws InvalidArgument  see refusal; or a number of `problem` is out of range.
  Schedule schedule(const Problem& problem) const;

  /// The schedule's cost in closed form. It is exact if all parts and segments have the same size.
  ///
  /// @throws InvalidArgument  as for schedule.
  Cost cost(const Problem& problem) const;

 private:
  Definition own_;
};

/// All algorithms, those that are fastest on one host first.
std::span<const Algorithm* const> algorithms() noexcept;

/// The algorithm of that name.
///
/// @throws InvalidArgument  there is none of that name; the text lists the names.
const Algorithm& algorithm(std::string_view name);

}  // namespace tandem::comm
