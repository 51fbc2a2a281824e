// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <string_view>

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/check.hpp"
#include "tandem/nn/batch_norm.hpp"

#include "parallel/replica_state.hpp"

// Note [Buffers]: replicas write private copies. What takes values of several replicas (mean, sum)
// is computed into device 0's copy before the vote; the merge, after it, only copies. So a call
// that fails leaves the module's buffers alone.
namespace tandem::parallel {
namespace {

/// `*` stands for any text.
bool matches(std::string_view pattern, std::string_view name) {
  if (pattern.empty()) return name.empty();
  if (pattern.front() != '*') {
    return !name.empty() && pattern.front() == name.front() &&
           matches(pattern.substr(1), name.substr(1));
  }
  for (std::size_t skip = 0; skip <= name.size(); ++skip) {
    if (matches(pattern.substr(1), name.substr(skip))) return true;
  }
  return false;
}

void check_type(BufferMerge merge, const optim::ArenaPlace& place, DType t) {
  TANDEM_CHECK(merge != BufferMerge::mean || is_float(t),
               "DataParallel: the mean of buffer '",
               place.name,
               "', which is ",
               t,
               ", would be cut off; use BufferMerge::sum or BufferMerge::first");
  TANDEM_CHECK(merge != BufferMerge::sum || t != DType::boolean,
               "DataParallel: buffer '",
               place.name,
               "' is ",
               t,
               ", which has no sum; use BufferMerge::first");
}

/// A place with its padding, which is zero.
Tensor flat_place(const optim::Arena& arena, std::size_t place) {
  const optim::ArenaPlace& at = arena.layout().places()[place];
  const Tensor& block = arena.params(at.block);
  return as_strided(block, {at.extent}, {1}, block.impl().offset + at.offset);
}

}  // namespace

void ReplicaSet::State::bind_buffer_rules() {
  std::vector<bool> used(options.buffers.size());
  std::string names;
  const std::size_t count =
      master_buffers == nullptr ? 0 : master_buffers->layout().places().size();
  for (std::size_t p = 0; p < count; ++p) {
    const optim::ArenaPlace& place = master_buffers->layout().places()[p];
    std::optional<BufferMerge> merge;
    for (std::size_t i = 0; i < used.size(); ++i) {
      if (!matches(options.buffers[i].names, place.name)) continue;
      used[i] = true;
      if (!merge) merge = options.buffers[i].merge;
    }
    buffer_merges.push_back(merge.value_or(BufferMerge::first));
    check_type(buffer_merges.back(), place, master_buffers->params(place.block).dtype());
    names += (names.empty() ? "" : ", ") + place.name;
  }
  for (std::size_t i = 0; i < used.size(); ++i) {
    TANDEM_CHECK(used[i],
                 "DataParallel: the rule for buffers '",
                 options.buffers[i].names,
                 "' names none; the module has ",
                 names.empty() ? "no buffers" : names);
  }
  std::vector<bool> agreed(count);
  for (nn::Module* module : modules[0]->modules()) {
    const auto* norm = dynamic_cast<const nn::BatchNorm*>(module);
    if (norm == nullptr || norm->options().sync == BatchNormSync::per_replica) continue;
    for (const Tensor& x : {norm->running_mean, norm->running_var, norm->num_batches_tracked})
      if (x.defined()) agreed[*master_buffers->place_of(x)] = true;
  }
  replicas_agree =
      std::ranges::count(agreed, false) == 0 &&
      std::ranges::count(buffer_merges, BufferMerge::first) == std::ssize(buffer_merges);
}

bool ReplicaSet::State::combines(std::size_t place) const {
  return buffer_merges[place] != BufferMerge::first;
}

void ReplicaSet::State::combine_buffers(Call& call, int rank) {
  comm::Communicator* world = call.group->comm_of(rank);
  if (world == nullptr || master_buffers == nullptr || !modules[0]->is_training()) return;
  const auto r = static_cast<std::size_t>(rank);
  const auto own = static_cast<double>(call.rows[r].end - call.rows[r].begin);
  const autograd::NoGrad off;
  in_phase(call, rank, Phase::reduce, [&] {
    for (std::size_t p = 0; p < buffer_merges.size(); ++p) {
      if (!combines(p)) continue;
      Tensor x = flat_place(*buffers[r], p);
      if (buffer_merges[p] == BufferMerge::mean)
        own > 0 ? x.mul_(own / static_cast<double>(call.batch_rows())) : x.zero_();
      world->reduce(x, comm::ReduceOp::sum, 0);
      // Every replica has begun with the module's value, which counts once.
      if (rank == 0 && buffer_merges[p] == BufferMerge::sum)
        x.add_(flat_place(*master_buffers, p), -static_cast<double>(call.group->ranks.size() - 1));
    }
  });
}

std::vector<std::uint64_t> ReplicaSet::State::versions_of(const optim::Arena& arena) {
  std::vector<std::uint64_t> versions;
  for (std::size_t b = 0; b < arena.layout().blocks().size(); ++b)
    versions.push_back(arena.params(static_cast<int>(b)).buffer().version());
  return versions;
}

bool ReplicaSet::State::wrote_buffers(const Call& call) const {
  return std::ranges::any_of(call.group->ranks, [&](int rank) {
    const auto r = static_cast<std::size_t>(rank);
    return buffers[r]->versions() != call.buffer_versions[r];
  });
}

void ReplicaSet::State::expect_writes(const Call& call) {
  if (master_buffers == nullptr || !modules[0]->is_training()) return;
  for (const int r : call.group->ranks)
    buffers_synced[static_cast<std::size_t>(r)].clear();
}

void ReplicaSet::State::note_buffers(const Call& call) {
  if (master_buffers == nullptr) return;
  const bool wrote = modules[0]->is_training() && wrote_buffers(call);
  const auto& last = call.micro_batches.empty() ? call.rows : call.micro_batches.back().rows;
  const std::vector<std::uint64_t> now = versions_of(*master_buffers);
  for (const int r : call.group->ranks)
    if (!wrote || (replicas_agree && active(last, r)))
      buffers_synced[static_cast<std::size_t>(r)] = now;
}

void ReplicaSet::State::merge_buffers(Call& call, int rank) {
  // With synchronised statistics all replicas that have rows hold the same bits.
  const int source =
      first_active(call.micro_batches.empty() ? call.rows : call.micro_batches.back().rows);
  if (rank != 0 || master_buffers == nullptr || source < 0 || !modules[0]->is_training()) return;
  if (!wrote_buffers(call)) return;
  const ContextScope scope([](Context& c) { c.phase = Phase::update; });
  const auto from = static_cast<std::size_t>(source);
  const optim::Arena::Versions before = master_buffers->versions();
  try {
    for (std::size_t b = 0; b < master_buffers->layout().blocks().size(); ++b) {
      Tensor block = master_buffers->params(static_cast<int>(b));
      block.copy_(buffers[from]->params(static_cast<int>(b)));
    }
    for (std::size_t p = 0; source != 0 && p < buffer_merges.size(); ++p) {
      if (combines(p)) flat_place(*master_buffers, p).copy_(flat_place(*buffers[0], p));
    }
    // What no replica has written has got its own value.
    optim::Arena::Versions after = master_buffers->versions();
    const optim::Arena::Versions written = buffers[from]->versions();
    for (std::size_t p = 0; p < after.size(); ++p) {
      if (written[p] == call.buffer_versions[from][p] && !combines(p)) after[p] = before[p];
    }
    master_buffers->set_versions(after);
  } catch (...) {
    call.commit_errors[0] = std::current_exception();
  }
}

void ReplicaSet::State::follow_buffers(Call& call, int rank, const MicroBatch& part) {
  if (master_buffers == nullptr || !modules[0]->is_training()) return;
  const std::vector<int>& ranks = call.group->ranks;
  const bool all = std::ranges::all_of(ranks, [&](int r) { return part.active(r); });
  if (all) return;
  const auto root =
      static_cast<int>(std::ranges::find(ranks, first_active(part.rows)) - ranks.begin());
  const optim::Arena& own = *buffers[static_cast<std::size_t>(rank)];
  comm::Communicator& world = *call.group->comm_of(rank);
  in_phase(call, rank, Phase::replicate, [&] {
    if (std::ranges::count(buffer_merges, BufferMerge::first) == std::ssize(buffer_merges)) {
      for (std::size_t b = 0; b < own.layout().blocks().size(); ++b)
        world.broadcast(own.params(static_cast<int>(b)), root);
      return;
    }
    for (std::size_t p = 0; p < buffer_merges.size(); ++p) {
      if (!combines(p)) world.broadcast(flat_place(own, p), root);
    }
  });
}

}  // namespace tandem::parallel
