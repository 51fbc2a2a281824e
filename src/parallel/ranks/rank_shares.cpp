// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/ranks/rank_shares.hpp"

#include <memory>
#include <utility>

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/check.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/tensor/factories.hpp"

#include "parallel/reduce/buckets.hpp"

namespace tandem::parallel {
namespace {

Tensor allocate(std::int64_t numel, DType dtype, Device device, Category category) {
  auto buffer =
      std::make_shared<Buffer>(device, static_cast<std::size_t>(numel) * itemsize(dtype), category);
  return from_buffer(std::move(buffer), 0, {numel}, {1}, dtype).zero_();
}

}  // namespace

void RankShares::add_block(const Tensor& values) {
  blocks_.emplace_back();
  blocks_.back().numel = values.numel();
  blocks_.back().values =
      allocate(values.numel() / ranks_, values.dtype(), group_->device(), Category::parameter);
  scatter(Of::values, blocks() - 1, values);
}

void RankShares::add_gradients(const optim::ArenaLayout& layout,
                               const std::vector<std::string>& units) {
  for (const int b : layout.block_indices()) {
    const optim::ArenaBlock& block = layout.blocks()[static_cast<std::size_t>(b)];
    Block& own = blocks_[static_cast<std::size_t>(b)];
    const auto unit = static_cast<std::size_t>(block.unit);
    if (unit < units.size()) own.unit = units[unit];
    if (block.trains == optim::Trains::yes)
      own.gradients =
          allocate(block.numel / ranks_, block.dtype, group_->device(), Category::gradient);
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
  TANDEM_CHECK(group_ != nullptr,
               name,
               " is sharded over ",
               ranks_,
               " ranks, and its FullyShardedDataParallel has ended; use the module before that");
  const Phase phase = context().phase;
  if (open_ || phase == Phase::forward || phase == Phase::backward) return;
  throw InvalidArgument(tandem::detail::concat(
      name,
      " is sharded: rank ",
      rank_,
      " of ",
      ranks_,
      " has a part of its parameters, and the others are not asked for theirs here; use "
      "unsharded(net, [&] { ... }) on all ranks"));
}

comm::Handle RankShares::start_gather(Of of, int block, const Tensor& whole) {
  const ContextScope scope(
      [&](Context& c) { c.phase = of == Of::values ? Phase::replicate : Phase::reduce; });
  comm::Collective gather = comm::Collective::all_gather(at(of, block, rank()), whole);
  gather.purpose = tandem::detail::concat(
      of == Of::values ? "values" : "gradients", " of unit '", this->block(block).unit, "'");
  return group_->start(std::move(gather));
}

void RankShares::gather(Of of, int block, const Tensor& whole) {
  check_open(this->block(block));
  start_gather(of, block, whole).wait();
}

std::shared_ptr<Buffer> RankShares::take_gathered(int block) {
  if (ahead_.empty()) return nullptr;
  if (ahead_.front().block != block) {
    end_ahead();
    return nullptr;
  }
  ahead_.front().handle.wait();
  std::shared_ptr<Buffer> whole = std::move(ahead_.front().whole);
  ahead_.pop_front();
  return whole;
}

void RankShares::gather_ahead(int block) {
  if (open_ || prefetch_ == 0) return;
  const std::vector<int> next = order_.note(block, prefetch_);
  for (std::size_t i = ahead_.size(); i < next.size(); ++i) {
    const Block& b = this->block(next[i]);
    auto buffer =
        std::make_shared<Buffer>(group_->device(),
                                 static_cast<std::size_t>(b.numel) * itemsize(b.values.dtype()),
                                 Category::parameter);
    const Tensor whole = from_buffer(buffer, 0, {b.numel}, {1}, b.values.dtype());
    comm::Handle handle = start_gather(Of::values, next[i], whole);
    ahead_.push_back({next[i], std::move(buffer), std::move(handle)});
  }
}

void RankShares::end_ahead() {
  for (Ahead& ahead : ahead_)
    ahead.handle.wait();
  ahead_.clear();
}

void RankShares::begin_pass(GatherOrder::Pass pass) {
  end_ahead();
  order_.begin(pass);
}

void RankShares::scatter(Of of, int block, const Tensor& whole) {
  const autograd::NoGrad off;
  Tensor own = at(of, block, rank());
  own.copy_(range(whole, share(block)));
}

Tensor RankShares::reduced(int block, int rank) {
  const auto b = static_cast<std::size_t>(block);
  const Tensor& own = at(Of::gradients, block, rank);
  if (b >= adds_to_.size() || adds_to_[b] == 0) return own;
  if (!added_[b].defined())
    added_[b] = allocate(own.numel(), own.dtype(), own.device(), Category::gradient);
  return added_[b];
}

void RankShares::end_backward() {
  end_ahead();
  const autograd::NoGrad off;
  for (std::size_t b = 0; b < added_.size(); ++b) {
    if (!added_[b].defined()) continue;
    Tensor own = at(Of::gradients, static_cast<int>(b), rank());
    own.add_(added_[b]);
    added_[b] = {};
  }
}

void RankShares::begin_backward(std::vector<std::uint8_t> adds_to) {
  adds_to_ = std::move(adds_to);
  added_.assign(blocks_.size(), {});
}

}  // namespace tandem::parallel
