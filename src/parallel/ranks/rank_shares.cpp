// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/ranks/rank_shares.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/check.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/tensor/factories.hpp"

#include "parallel/reduce/buckets.hpp"
#include "parallel/units/allocate_share.hpp"

namespace tandem::parallel {

void RankShares::add_block(const Tensor& values) {
  blocks_.emplace_back();
  blocks_.back().numel = values.numel();
  blocks_.back().values =
      allocate_share(values.numel() / ranks_, values.dtype(), home_, Category::parameter);
  scatter(Of::values, blocks() - 1, values);
}

void RankShares::add_gradients(const optim::ArenaLayout& layout,
                               const std::vector<std::string>& units) {
  for (const int b : layout.block_indices()) {
    const optim::ArenaBlock& block = layout.blocks()[static_cast<std::size_t>(b)];
    Block& own = blocks_[static_cast<std::size_t>(b)];
    const auto unit = static_cast<std::size_t>(block.unit);
    if (unit < units.size()) own.unit = units[unit];
    own.dtype = block.dtype;
    if (block.trains == optim::Trains::yes)
      own.gradients =
          allocate_share(block.numel / ranks_, own.values.dtype(), home_, Category::gradient);
  }
}

Share RankShares::share(int block) const {
  return even_share(this->block(block).numel, rank_, ranks_);
}

const Tensor& RankShares::at(Of of, int block, int rank) const {
  TANDEM_ASSERT(rank == rank_, "a rank has its own shares alone");
  return of == Of::values ? this->block(block).values : this->block(block).gradients;
}

void RankShares::check_open(const Block& block) const {
  const std::string name = block.unit.empty() ? "the module" : "'" + block.unit + "'";
  TANDEM_CHECK(!has_ended_,
               name,
               " is sharded over ",
               ranks_,
               " ranks, and its FullyShardedDataParallel has ended; use the module before that");
  const Phase phase = context().phase;
  if (phase == Phase::forward || phase == Phase::backward) return;
  throw InvalidArgument(tandem::detail::concat(
      name,
      " is sharded: rank ",
      rank_,
      " of ",
      ranks_,
      " has a part of its parameters, and the others are not asked for theirs here; use "
      "unsharded(net, [&] { ... }) on all ranks"));
}

Tensor RankShares::own_on_device(Of of, int block, DType dtype) const {
  const autograd::NoGrad off;
  const ContextScope scope([&](Context& c) { c.phase = Phase::replicate; });
  return at(of, block, rank()).to(dtype).to(group_.device());
}

comm::Handle RankShares::start_gather(Of of, int block, const Tensor& own, const Tensor& whole) {
  const ContextScope scope(
      [&](Context& c) { c.phase = of == Of::values ? Phase::replicate : Phase::reduce; });
  comm::Collective gather = comm::Collective::all_gather(own, whole);
  gather.purpose = tandem::detail::concat(
      of == Of::values ? "values" : "gradients", " of unit '", this->block(block).unit, "'");
  if (!left_out_.empty()) gather.purpose += std::exchange(left_out_, {});
  return group_.start(std::move(gather));
}

void RankShares::gather(Of of, int block, const Tensor& whole) {
  check_open(this->block(block));
  const Tensor own = own_on_device(of, block, whole.dtype());
  start_gather(of, block, own, whole).wait();
}

Tensor RankShares::gather_masters(int block) {
  const Block& b = this->block(block);
  const Tensor whole =
      allocate_share(b.numel, b.values.dtype(), group_.device(), Category::parameter);
  const Tensor own = own_on_device(Of::values, block, whole.dtype());
  start_gather(Of::values, block, own, whole).wait();
  return whole;
}

std::shared_ptr<Buffer> RankShares::take_gathered(int block, int /*rank*/) {
  if (ahead_.empty()) return nullptr;
  if (ahead_.front().block != block) {
    // Ranks that have used it compare this with what they gather next.
    left_out_ = " before '" + this->block(ahead_.front().block).unit + "'";
    end_ahead();
    return nullptr;
  }
  ahead_.front().handle.wait();
  std::shared_ptr<Buffer> whole = std::move(ahead_.front().whole);
  ahead_.pop_front();
  return whole;
}

void RankShares::gather_ahead(int block, int /*rank*/) {
  if (prefetch_ == 0) return;
  const std::vector<int> next = order_.note(block, prefetch_);
  for (std::size_t i = ahead_.size(); i < next.size(); ++i) {
    const Block& b = this->block(next[i]);
    const ContextScope scope([](Context& c) { c.category = Category::parameter; });
    const Tensor whole = empty({b.numel}, {.dtype = b.dtype, .device = group_.device()});
    Tensor own = own_on_device(Of::values, next[i], b.dtype);
    comm::Handle handle = start_gather(Of::values, next[i], own, whole);
    ahead_.push_back({next[i], std::move(own), whole.impl().buffer, std::move(handle)});
  }
}

void RankShares::end_ahead() noexcept {
  for (Ahead& ahead : ahead_) {
    try {
      ahead.handle.wait();
    } catch (...) {  // nobody needs it; the group refuses what follows, and says why
    }
  }
  ahead_.clear();
}

void RankShares::begin_pass(GatherOrder::Pass pass) {
  end_ahead();
  left_out_.clear();
  order_.begin(pass);
}

void RankShares::scatter(Of of, int block, const Tensor& whole) {
  const autograd::NoGrad off;
  Tensor own = at(of, block, rank());
  own.copy_(range(whole, share(block)));
}

Tensor RankShares::reduced(int block, int rank) {
  const Tensor& own = at(Of::gradients, block, rank);
  const DType dtype = reduce_dtype_.value_or(this->block(block).dtype);
  if (!adds_to(block) && home_ == group_.device() && dtype == own.dtype()) return own;
  return incoming_.place(block, own, dtype, group_.device());
}

void RankShares::end_reduction(int block, int rank) {
  if (adds_to(block)) return;  // until all have come
  const Tensor come = incoming_.take(block);
  if (!come.defined()) return;
  const autograd::NoGrad off;
  const ContextScope scope([](Context& c) { c.phase = Phase::reduce; });
  Tensor own = at(Of::gradients, block, rank);
  own.copy_(come);
}

void RankShares::end_backward(int /*rank*/) {
  end_ahead();
  const autograd::NoGrad off;
  const ContextScope scope([](Context& c) { c.phase = Phase::reduce; });
  for (int b = 0; b < blocks(); ++b) {
    const Tensor come = incoming_.take(b);
    if (!come.defined()) continue;
    const Tensor& own = block(b).gradients;
    sums_.push_back({own, come.to(own.dtype()).to(own.device())});
  }
}

void RankShares::add_reduced() {
  const autograd::NoGrad off;
  const ContextScope scope([](Context& c) { c.phase = Phase::reduce; });
  for (Sum& sum : sums_)
    sum.gradients.add_(sum.reduced);
  sums_.clear();
}

void RankShares::discard_backward() {
  end_ahead();
  incoming_.clear();
  sums_.clear();
}

void RankShares::clear_gradients(int block, Share range) {
  const Share own = share(block);
  const std::int64_t begin = std::max(own.begin, range.begin), end = std::min(own.end, range.end);
  const Tensor& gradients = this->block(block).gradients;
  if (begin < end && gradients.defined())
    gradients.narrow(0, begin - own.begin, end - begin).zero_();
}

void RankShares::begin_backward(std::vector<std::uint8_t> adds_to) {
  adds_to_ = std::move(adds_to);
  incoming_.clear();
  sums_.clear();
}

}  // namespace tandem::parallel
