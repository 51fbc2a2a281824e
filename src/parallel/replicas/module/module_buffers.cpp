// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replicas/module/module_buffers.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/check.hpp"
#include "tandem/parallel/detail/is_active.hpp"

#include "core/wildcard.hpp"
#include "parallel/replicas/call/processes.hpp"

// Note [Buffers]: replicas write private copies. What takes values of several replicas (mean, sum)
// is computed into device 0's copy before the vote; the merge, after it, only copies. So a call
// that fails leaves the module's buffers alone.
namespace tandem::parallel {
namespace {

void check_type(BufferMerge merge, const optim::ArenaPlace& place, DType t) {
  TANDEM_CHECK(merge != BufferMerge::mean || is_float(t),
               "DataParallel: the mean of buffer '",
               place.name,
               "', which is ",
               t,
               ", would be rounded; use BufferMerge::sum or BufferMerge::first");
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

/// The first device that has rows; -1: none.
int first_with_rows(const std::vector<RowRange>& rows) {
  for (std::size_t d = 0; d < rows.size(); ++d) {
    if (detail::is_active(rows, d)) return static_cast<int>(d);
  }
  return -1;
}

}  // namespace

ModuleBuffers::ModuleBuffers(const Replicas& replicas,
                             const ModeRules& rules,
                             const std::vector<BufferRule>& buffer_rules,
                             bool in_evaluation)
    : replicas_(replicas), rules_(rules), in_evaluation_(in_evaluation) {
  std::vector<optim::ArenaEntry> entries = arena_entries(first().source(), nn::TensorKind::buffer);
  const Device device = first().device();
  master_ = entries.empty()
                ? optim::Arena::none(device)
                : optim::Arena::obtain(std::move(entries),
                                       {.category = Category::buffer, .device = device});
  for (const std::size_t p : master_->layout().place_indices())
    own_.push_back(master_->tensor(p));
  for (const auto& replica : replicas_) {
    const optim::ArenaReplica copy = master_->replicate(replica->device());
    replica->buffers = copy.arena;
    if (replica->index() == 0)
      private_ = copy.tensors;
    else
      place_tensors(first().source(), *master_, replica->source(), copy.tensors);
  }
  bind_rules(buffer_rules);
}

void ModuleBuffers::bind_rules(const std::vector<BufferRule>& rules) {
  std::vector<bool> used(rules.size());
  std::string names;
  const std::size_t count = own_.size();
  for (std::size_t p = 0; p < count; ++p) {
    const optim::ArenaPlace& place = master_->layout().places()[p];
    std::optional<BufferMerge> merge;
    for (std::size_t i = 0; i < used.size(); ++i) {
      if (!matches(rules[i].names, place.name)) continue;
      used[i] = true;
      if (!merge) merge = rules[i].merge;
    }
    merges_.push_back(merge.value_or(BufferMerge::first));
    check_type(merges_.back(), place, master_->params(place.block).dtype());
    names += (names.empty() ? "" : ", ") + place.name;
  }
  for (std::size_t i = 0; i < used.size(); ++i) {
    TANDEM_CHECK(used[i],
                 "DataParallel: the rule for buffers '",
                 rules[i].names,
                 "' matches no buffer; the module has ",
                 names.empty() ? "no buffers" : names);
  }
  std::vector<bool> agreed(count);
  for (const Tensor& x : first().source().equal_buffers())
    agreed[*master_->place_of(x)] = true;
  replicas_agree_ = std::ranges::count(agreed, false) == 0 &&
                    std::ranges::count(merges_, BufferMerge::first) == std::ssize(merges_);
}

void ModuleBuffers::show(const std::vector<Tensor>& tensors) const {
  if (own_.empty()) return;
  first().source().visit_tensors([&](const std::string&, Tensor& x, nn::TensorKind) {
    auto place = master_->place_of(x);
    if (!place) place = first().buffers->place_of(x);
    if (place) x = tensors[*place];
  });
}

void ModuleBuffers::begin(Call& call) const {
  call.buffers.blocks = block_versions(*master_);
  call.buffers.places = master_->versions();
  call.buffers.send = rules_.sends_all();
  for (const int d : call.group.members())
    call.buffers.send |= call.part(d).replica->received.buffers != call.buffers.blocks;
}

void ModuleBuffers::expect_writes(const Call& call) const {
  for (const int d : call.group.members())
    call.part(d).replica->received.buffers.clear();
}

void ModuleBuffers::send(Call& call, Call::Part& part) const {
  const optim::Arena& copies = *part.replica->buffers;
  if (call.buffers.send) {
    for (const int b : copies.layout().block_indices()) {
      Tensor block = copies.params(b);
      if (part.is_first()) block.copy_(master_->params(b));
      if (!part.is_alone()) part.comm->broadcast(block, 0);
    }
    copies.set_versions(call.buffers.places);
  }
  part.buffers_before = copies.versions();
}

void ModuleBuffers::follow(Call& call, Call::Part& part, const MicroBatch& micro_batch) const {
  if (!bring_writes()) return;
  if (part.last.idle_process >= 0)  // whose devices have none to follow
    return in_phase(part, Phase::replicate, [&] { follow_processes(call, part); });
  const bool all =
      std::ranges::all_of(call.group.members(), [&](int d) { return micro_batch.has_rows(d); });
  if (all) return;
  const int root = call.group.rank_of(first_with_rows(micro_batch.rows));
  const optim::Arena& own = *part.replica->buffers;
  in_phase(part, Phase::replicate, [&] {
    if (std::ranges::count(merges_, BufferMerge::first) == std::ssize(merges_)) {
      for (const Tensor& block : own.params())
        part.comm->broadcast(block, root);
      return;
    }
    for (std::size_t p = 0; p < merges_.size(); ++p) {
      if (!combines(p)) part.comm->broadcast(flat_place(own, p), root);
    }
  });
}

void ModuleBuffers::follow_processes(const Call& call, const Call::Part& part) const {
  const autograd::NoGrad off;
  const optim::Arena& own = *part.replica->buffers;
  for (std::size_t p = 0; p < merges_.size(); ++p) {
    if (!combines(p)) call.processes->all(part).broadcast(flat_place(own, p), part.last.first);
  }
}

void ModuleBuffers::combine_processes(const Call& call, const Call::Part& part) const {
  const autograd::NoGrad off;
  comm::Communicator& all = call.processes->all(part);
  const optim::Arena& own = *part.replica->buffers;
  const auto share = static_cast<double>(part.row_count()) / static_cast<double>(part.whole.rows);
  if (std::ranges::count(merges_, BufferMerge::first) == std::ssize(merges_)) {
    for (const Tensor& block : own.params())
      all.broadcast(block, part.last.first);
    return;
  }
  for (std::size_t p = 0; p < merges_.size(); ++p) {
    Tensor x = flat_place(own, p);
    if (!combines(p)) {
      all.broadcast(x, part.last.first);
      continue;
    }
    if (merges_[p] == BufferMerge::mean) share > 0 ? x.mul_(share) : x.zero_();
    all.all_reduce(x);
    if (part.is_first() && merges_[p] == BufferMerge::sum)
      x.add_(flat_place(*master_, p), -static_cast<double>(all.size() - 1));
  }
}

void ModuleBuffers::combine(Call& call, Call::Part& part) const {
  if (!train()) return;
  if (part.whole.first >= 0)
    return in_phase(part, Phase::reduce, [&] { combine_processes(call, part); });
  if (part.is_alone()) return;
  const auto own = static_cast<double>(part.row_count());
  const autograd::NoGrad off;
  in_phase(part, Phase::reduce, [&] {
    for (std::size_t p = 0; p < merges_.size(); ++p) {
      if (!combines(p)) continue;
      Tensor x = flat_place(*part.replica->buffers, p);
      if (merges_[p] == BufferMerge::mean)
        own > 0 ? x.mul_(own / static_cast<double>(call.batch.size())) : x.zero_();
      part.comm->reduce(x, comm::ReduceOp::sum, 0);
      // Every replica has begun with the module's value, which counts once.
      if (part.is_first() && merges_[p] == BufferMerge::sum)
        x.add_(flat_place(*master_, p), -static_cast<double>(call.group.members().size() - 1));
    }
  });
}

bool ModuleBuffers::wrote(const Call& call) {
  return std::ranges::any_of(call.group.members(), [&](int d) {
    return call.part(d).replica->buffers->versions() != call.part(d).buffers_before;
  });
}

void ModuleBuffers::merge(Call& call, Call::Part& part) const {
  // With synchronised statistics all replicas that have rows hold the same bits; where processes
  // train together, all do.
  const int source = call.processes->are_several() ? 0 : first_with_rows(call.last_rows());
  if (!part.is_first() || source < 0 || !bring_writes() || !wrote(call)) return;
  const ContextScope scope([](Context& c) { c.phase = Phase::update; });
  const optim::Arena& copies = *call.part(source).replica->buffers;
  const optim::Arena::Versions before = master_->versions();
  try {
    const optim::Arena::Versions written = copies.versions();
    const optim::Arena::Versions& unwritten = call.part(source).buffers_before;
    if (train()) {
      for (const int b : master_->layout().block_indices()) {
        Tensor block = master_->params(b);
        block.copy_(copies.params(b));
      }
      for (std::size_t p = 0; source != 0 && p < merges_.size(); ++p) {
        if (combines(p)) flat_place(*master_, p).copy_(flat_place(*first().buffers, p));
      }
    } else {
      for (std::size_t p = 0; p < merges_.size(); ++p) {
        if (!combines(p) && written[p] != unwritten[p])
          flat_place(*master_, p).copy_(flat_place(copies, p));
      }
    }
    // What no replica has written has got its own value.
    optim::Arena::Versions after = master_->versions();
    for (std::size_t p = 0; p < after.size(); ++p) {
      if (written[p] == unwritten[p] && !combines(p)) after[p] = before[p];
    }
    master_->set_versions(after);
  } catch (...) {
    part.commit_error = std::current_exception();
  }
}

void ModuleBuffers::note_written(const Call& call) const {
  const bool written = wrote(call);
  const bool agree = replicas_agree_ && train();
  const auto last = call.last_rows();
  const std::vector<std::uint64_t> now = block_versions(*master_);
  for (const int d : call.group.members()) {
    if (!written || (agree && detail::is_active(last, static_cast<std::size_t>(d))))
      call.part(d).replica->received.buffers = now;
  }
}

}  // namespace tandem::parallel
