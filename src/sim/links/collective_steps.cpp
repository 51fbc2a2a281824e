// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "sim/links/collective_steps.hpp"

#include <algorithm>

#include "tandem/core/check.hpp"

#include "comm/exchange_method.hpp"
#include "sim/links/collective_kind.hpp"

namespace tandem::sim {
namespace {

/// Null: it is direct, and has no schedule.
const comm::Algorithm* algorithm_of(const profile::WorkSpan& span) {
  const auto kind = collective_kind(span.name);
  const comm::Algorithm& own = comm::algorithm_of(*span.exchange);
  return kind && own.has(*kind) ? &own : nullptr;
}

}  // namespace

CollectiveSteps::CollectiveSteps(const profile::StepRecord& record,
                                 const std::map<Device, int>& gpus)
    : record_(record), gpus_(gpus) {
  for (std::size_t i = 0; i < record.transfers.size(); ++i)
    if (record.transfers[i].exchange != 0) transfers_[record.transfers[i].exchange].push_back(i);
}

std::vector<CollectiveStep> CollectiveSteps::of(
    std::uint64_t id, std::span<const std::pair<int, std::size_t>> parts) const {
  std::vector<const profile::WorkSpan*> coalesced;  // as one rank called them
  const int gpu = parts.front().first;
  for (const auto& [other, part] : parts)
    if (other == gpu) coalesced.push_back(&record_.work[part]);
  const bool has_schedule = std::ranges::all_of(
      coalesced, [](const profile::WorkSpan* span) { return algorithm_of(*span) != nullptr; });
  if (!has_schedule) return recorded(id);
  std::vector<int> gpu_of_rank(static_cast<std::size_t>(coalesced.front()->exchange->ranks), -1);
  for (const auto& [own, part] : parts)
    gpu_of_rank.at(static_cast<std::size_t>(record_.work[part].exchange->rank)) = own;
  const auto missing = std::ranges::count(gpu_of_rank, -1);
  TANDEM_CHECK(missing == 0,
               "simulate: ",
               missing,
               " of the ",
               gpu_of_rank.size(),
               " ranks of a collective (",
               coalesced.front()->name,
               ") are not on the devices that are given, so that its algorithm cannot be played; "
               "give the devices of all ranks, or CollectiveTimes::library");
  std::vector<CollectiveStep> steps;
  std::size_t first = 0;
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < coalesced.size(); ++i) {
    const auto is_direct = [&](std::size_t c) { return comm::is_direct(*coalesced[c]->exchange); };
    if (i > 0 && !(is_direct(i) && is_direct(i - 1))) first = steps.size();
    add_scheduled(steps, first, offset, *coalesced[i], gpu_of_rank);
    offset += static_cast<std::int64_t>(coalesced[i]->exchange->nbytes);
  }
  return steps;
}

void CollectiveSteps::add_scheduled(std::vector<CollectiveStep>& steps,
                                    std::size_t first,
                                    std::int64_t offset,
                                    const profile::WorkSpan& span,
                                    const std::vector<int>& gpu_of_rank) const {
  const std::size_t itemsize = tandem::itemsize(span.cost.dtype);
  const auto size = static_cast<std::int64_t>(itemsize);
  const comm::Schedule schedule = algorithm_of(span)->schedule(
      comm::problem_of(*span.exchange, *collective_kind(span.name), itemsize));
  steps.resize(std::max(steps.size(), first + schedule.steps.size()));
  for (std::size_t s = 0; s < schedule.steps.size(); ++s) {
    CollectiveStep& step = steps[first + s];
    for (const comm::Transfer& t : schedule.steps[s]) {
      const int from = gpu_of_rank[static_cast<std::size_t>(t.from)];
      const int to = gpu_of_rank[static_cast<std::size_t>(t.to)];
      step.moved[{from, to}] += static_cast<std::size_t>((t.end - t.begin) * size);
      if (t.kind == comm::Transfer::Kind::reduce)
        step.added[to].push_back({from, offset + t.begin * size, offset + t.end * size});
    }
  }
}

std::vector<CollectiveStep> CollectiveSteps::recorded(std::uint64_t id) const {
  std::vector<CollectiveStep> steps(1);
  const auto found = transfers_.find(id);
  if (found == transfers_.end()) return {};
  for (const std::size_t i : found->second) {
    const profile::Transfer& moved = record_.transfers[i];
    const auto from = gpus_.find(moved.source), to = gpus_.find(moved.destination);
    if (from == gpus_.end() || to == gpus_.end()) continue;
    steps.front().moved[{from->second, to->second}] += moved.nbytes;
  }
  return steps;
}

}  // namespace tandem::sim
