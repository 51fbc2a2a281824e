// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/units/sleeping_blocks.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/check.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/tensor/factories.hpp"

namespace tandem::parallel {
namespace {

using Of = BlockStore::Of;

constexpr std::uint64_t kNever = UINT64_MAX;  // no version of a buffer

Tensor flat_of(const std::shared_ptr<Buffer>& buffer, std::int64_t numel, DType dtype) {
  return from_buffer(buffer, 0, {numel}, {1}, dtype);
}

}  // namespace

SleepingBlocks::SleepingBlocks(std::shared_ptr<BlockStore> store,
                               const optim::Arena& arena,
                               int device)
    : store_(std::move(store)), device_(device) {
  const optim::ArenaLayout& layout = arena.layout();
  for (const int b : layout.block_indices()) {
    const optim::ArenaBlock& block = layout.blocks()[static_cast<std::size_t>(b)];
    const auto name = std::make_shared<const std::string>(layout.first_place(b).name);
    for (const Of of : {Of::values, Of::gradients}) {
      const Tensor& flat = of == Of::values ? arena.params(b) : arena.grads(b);
      if (!flat.defined() || !flat.buffer().is_dropped()) continue;
      index_[&flat.buffer()] = blocks_.size();
      blocks_.push_back({flat.impl().buffer, of, b, block.unit, block.numel, block.dtype, name});
      if (of == Of::values) blocks_.back().share_version = version_of_share(blocks_.back());
    }
  }
  for (const optim::ArenaPlace& place : layout.places())
    for (Block& block : blocks_)
      if (block.index == place.block && block.of == Of::values)
        block.parameters.push_back(place.name);
}

std::shared_ptr<SleepingBlocks> SleepingBlocks::of(std::shared_ptr<BlockStore> store,
                                                   const optim::Arena& arena,
                                                   int device) {
  const auto blocks = std::make_shared<SleepingBlocks>(std::move(store), arena, device);
  blocks->set_sources(blocks);
  return blocks;
}

void SleepingBlocks::set_sources(const std::shared_ptr<SleepingBlocks>& source) const {
  for (const Block& block : blocks_)
    if (const auto buffer = block.buffer.lock()) buffer->dropped().set_source(source);
}

SleepingBlocks::Block& SleepingBlocks::block_of(Of of, int index) {
  return *std::ranges::find_if(
      blocks_, [&](const Block& block) { return block.of == of && block.index == index; });
}

std::uint64_t SleepingBlocks::version_of_share(const Block& block) const {
  return store_->at(Of::values, block.index, device_).buffer().version();
}

void SleepingBlocks::provide(Buffer& buffer, std::span<const Buffer* const> used) {
  Block& block = blocks_[index_.at(&buffer)];
  const std::shared_ptr<Buffer> own = block.buffer.lock();
  TANDEM_ASSERT(own != nullptr, "a buffer without owner is used");
  make_room(block, used);
  if (block.of == Of::values && wake_gathered(block, own))
    return store_->gather_ahead(block.index, device_);
  own->dropped().wake();
  block.is_awake = true;
  try {
    put_bytes(block, own);
  } catch (...) {
    forget(block);
    throw;
  }
  if (block.of == Of::values) store_->gather_ahead(block.index, device_);
}

bool SleepingBlocks::wake_gathered(Block& block, const std::shared_ptr<Buffer>& buffer) const {
  const std::shared_ptr<Buffer> gathered = store_->take_gathered(block.index, device_);
  if (gathered == nullptr) return false;
  buffer->dropped().wake(*gathered);
  block.is_awake = true;
  block.version = buffer->version();
  block.parts = buffer->part_versions();
  return true;
}

void SleepingBlocks::put_bytes(Block& block, const std::shared_ptr<Buffer>& buffer) const {
  const auto b = static_cast<std::size_t>(block.index);
  const Phase phase = context().phase;
  const bool is_new = block.of == Of::gradients && collects_ &&
                      (phase == Phase::backward || phase == Phase::reduce);
  if (is_new && (b >= adds_to_.size() || adds_to_[b] == 0)) {
    const autograd::NoGrad off;
    flat_of(buffer, block.numel, block.dtype).zero_();
  } else {
    fill(block, buffer);
  }
  block.is_made = is_new;
}

/// The tensors have not changed, so nor have their versions.
void SleepingBlocks::fill(Block& block, const std::shared_ptr<Buffer>& buffer) const {
  block.parts = buffer->part_versions();
  store_->gather(block.of, block.index, flat_of(buffer, block.numel, block.dtype));
  buffer->set_part_versions(block.parts);
  block.version = buffer->version();
}

void SleepingBlocks::make_room(const Block& for_block, std::span<const Buffer* const> used) {
  for (Block& other : blocks_) {
    if (!other.is_awake || other.is_made || other.of != for_block.of ||
        other.unit == for_block.unit || (keeps_values_ && other.of == Of::values))
      continue;
    const std::shared_ptr<Buffer> buffer = other.buffer.lock();
    if (std::ranges::find(used, buffer.get()) == used.end()) sleep(other);
  }
}

void SleepingBlocks::sleep(Block& block) const {
  if (writes_ == Writes::refused && is_written(block)) refuse_write(block);
  block.is_awake = block.is_made = false;
  const std::shared_ptr<Buffer> buffer = block.buffer.lock();
  if (buffer == nullptr || buffer->is_dropped()) return;
  if (buffer->version() != block.version)
    store_->scatter(block.of, block.index, flat_of(buffer, block.numel, block.dtype));
  buffer->dropped().drop(block.name);
}

bool SleepingBlocks::is_written(const Block& block) const {
  const std::shared_ptr<Buffer> buffer = block.buffer.lock();
  return block.of == Of::values && block.is_awake && buffer != nullptr &&
         buffer->version() != block.version;
}

void SleepingBlocks::refuse_write(Block& block) const {
  const std::shared_ptr<Buffer> buffer = block.buffer.lock();
  const std::vector<std::uint64_t> now = buffer->part_versions();
  const auto [changed, before] = std::ranges::mismatch(now, block.parts);
  const auto part = static_cast<std::size_t>(changed - now.begin());
  const std::string name = part < block.parameters.size() ? block.parameters[part] : *block.name;
  forget(block);
  throw InvalidArgument(tandem::detail::concat(
      "'",
      name,
      "' was written to in a forward or a backward on ",
      buffer->device(),
      ", which has a share of it, and a copy of the rest that no other device sees; compute "
      "with a new tensor in its place, make it a buffer, or write to it between steps (in a "
      "rank's program, in unsharded)"));
}

void SleepingBlocks::check_unwritten() {
  if (writes_ == Writes::kept) return;
  for (Block& block : blocks_)
    if (is_written(block)) refuse_write(block);
}

void SleepingBlocks::forget(Block& block) const {
  if (const auto buffer = block.buffer.lock()) block.version = buffer->version();
  sleep(block);
}

void SleepingBlocks::end_reduction(int block) {
  store_->end_reduction(block, device_);
  forget(block_of(Of::gradients, block));  // the shares have the sum
}

void SleepingBlocks::end_backward() {
  discard_gradients(false);
  store_->end_backward(device_);
  sleep_values();
}

void SleepingBlocks::begin_backward(std::vector<std::uint8_t> adds_to) {
  sleep();  // those that somebody has read, or written
  discard_gradients(true);
  began_ = true;
  adds_to_ = std::move(adds_to);
}

void SleepingBlocks::discard_gradients(bool collects) {
  collects_ = collects;
  adds_to_.clear();
  for (Block& block : blocks_) {
    if (block.is_made) forget(block);
  }
}

void SleepingBlocks::end_job(Ending ending) {
  if (ending == Ending::well) began_ = false;
  if (writes_ == Writes::refused) forget_values();
  writes_ = Writes::kept;
  sleep_values();
  store_->end_job(device_);
}

void SleepingBlocks::discard_failed() {
  if (!std::exchange(began_, false)) return;
  discard_gradients(false);
  store_->end_backward(device_);
}

void SleepingBlocks::keep_gradients() {
  collects_ = false;
  for (Block& block : blocks_) {
    if (!std::exchange(block.is_made, false)) continue;
    block.version = kNever;  // the shares have others
  }
}

void SleepingBlocks::sleep() {
  for (Block& block : blocks_)
    if (block.is_awake && !block.is_made) sleep(block);
}

void SleepingBlocks::sleep_values() {
  for (Block& block : blocks_)
    if (block.is_awake && block.of == Of::values) sleep(block);
}

void SleepingBlocks::forget_values() {
  for (Block& block : blocks_)
    if (block.is_awake && block.of == Of::values) forget(block);
}

void SleepingBlocks::note_updated() {
  forget_values();
  for (Block& block : blocks_) {
    if (block.of != Of::values) continue;
    const std::uint64_t now = version_of_share(block);
    if (std::exchange(block.share_version, now) == now) continue;
    if (const auto buffer = block.buffer.lock()) buffer->bump_version();
  }
}

void SleepingBlocks::wake_for_good() {
  sleep();
  for (Block& block : blocks_) {
    const std::shared_ptr<Buffer> buffer = block.buffer.lock();
    if (buffer == nullptr || block.is_awake) continue;
    buffer->dropped().wake();
    block.is_awake = true;
    fill(block, buffer);
  }
  set_sources(nullptr);
}

}  // namespace tandem::parallel
