// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/comm/algorithms.hpp"

#include <algorithm>
#include <array>

#include "tandem/core/check.hpp"

#include "comm/algorithms/list.hpp"

namespace tandem::comm {
namespace {

void check(const Problem& p, const std::string& refusal) {
  TANDEM_CHECK(p.ranks >= 1, "the collective has ", p.ranks, " ranks; expected at least 1");
  TANDEM_CHECK(p.count >= 0, "the collective has ", p.count, " elements; expected at least 0");
  TANDEM_CHECK(p.segment >= 1, "a segment has ", p.segment, " elements; expected at least 1");
  TANDEM_CHECK(p.root >= 0 && p.root < p.ranks,
               "root ",
               p.root,
               " is not one of the ",
               p.ranks,
               " ranks; expected 0 to ",
               p.ranks - 1);
  if (!refusal.empty()) throw InvalidArgument(refusal);
}

}  // namespace

Cost cost_of(const Schedule& schedule, int ranks) {
  const auto n = static_cast<std::size_t>(ranks);
  Cost cost{.steps = static_cast<std::int64_t>(schedule.steps.size())};
  std::vector<std::int64_t> total(n);
  for (const auto& step : schedule.steps) {
    std::vector<std::int64_t> sent(n), received(n);
    for (const Transfer& t : step) {
      sent[static_cast<std::size_t>(t.from)] += t.end - t.begin;
      received[static_cast<std::size_t>(t.to)] += t.end - t.begin;
    }
    cost.path += static_cast<double>(
        std::max(*std::ranges::max_element(sent), *std::ranges::max_element(received)));
    std::ranges::transform(total, sent, total.begin(), std::plus<>());
  }
  cost.sent = static_cast<double>(*std::ranges::max_element(total));
  return cost;
}

bool Algorithm::has(Collective::Kind kind) const noexcept {
  return std::ranges::find(own_.kinds, kind) != own_.kinds.end();
}

std::string Algorithm::refusal(const Problem& problem) const {
  if (!has(problem.kind)) {
    std::string kinds;
    for (const Collective::Kind kind : own_.kinds)
      kinds += (kinds.empty() ? "" : ", ") + std::string(comm::name(kind));
    return detail::concat(name(),
                          " has no ",
                          comm::name(problem.kind),
                          ", only ",
                          kinds,
                          "; use direct, which has every collective");
  }
  return problem.ranks == 1 ? "" : own_.refusal(problem);
}

Schedule Algorithm::schedule(const Problem& problem) const {
  check(problem, refusal(problem));
  if (problem.ranks == 1 || problem.count == 0) return {};
  Schedule schedule = own_.schedule(problem);
  if (problem.root == 0) return schedule;
  for (auto& step : schedule.steps) {
    for (Transfer& t : step) {
      t.from = (t.from + problem.root) % problem.ranks;
      t.to = (t.to + problem.root) % problem.ranks;
    }
  }
  return schedule;
}

Cost Algorithm::cost(const Problem& problem) const {
  check(problem, refusal(problem));
  if (problem.ranks == 1 || problem.count == 0) return {};
  return own_.cost(problem);
}

std::span<const Algorithm* const> algorithms() noexcept {
  static const std::array all{&direct(),
                              &reduce_broadcast(),
                              &halving_doubling(),
                              &butterfly(),
                              &ring(),
                              &segmented_ring(),
                              &binary_tree(),
                              &double_binary_tree(),
                              &hierarchical_ring(),
                              &torus_2d(),
                              &native()};
  return all;
}

const Algorithm& algorithm(std::string_view name) {
  std::string names;
  for (const Algorithm* a : algorithms()) {
    if (a->name() == name) return *a;
    names += (names.empty() ? "" : ", ") + std::string(a->name());
  }
  throw InvalidArgument(
      detail::concat("there is no collective algorithm '", name, "'; the algorithms are ", names));
}

}  // namespace tandem::comm
