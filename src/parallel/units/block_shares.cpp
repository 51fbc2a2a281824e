// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/units/block_shares.hpp"

#include <algorithm>

#include "tandem/runtime/context.hpp"
#include "tandem/runtime/dispatch.hpp"

#include "parallel/units/allocate_share.hpp"

namespace tandem::parallel {
namespace {

constexpr std::size_t kSmallestItem = 4;  // bytes of the smallest type of a parameter that trains

void copy_elements(const Tensor& from,
                   std::int64_t from_begin,
                   const Tensor& to,
                   std::int64_t to_begin,
                   std::int64_t count) {
  const std::size_t size = itemsize(from.dtype());
  const auto bytes = [size](const Tensor& x, std::int64_t begin) {
    return static_cast<std::size_t>(x.impl().offset + begin) * size;
  };
  copy_bytes(from.buffer(),
             bytes(from, from_begin),
             to.buffer(),
             bytes(to, to_begin),
             static_cast<std::size_t>(count) * size);
}

}  // namespace

optim::BlockPadding BlockShares::padding(std::size_t devices, bool whole_tensors) noexcept {
  return {.multiple = static_cast<std::int64_t>(devices * (kShareAlignment / kSmallestItem)),
          .parts = whole_tensors ? static_cast<int>(devices) : 0};
}

BlockShares::ByDevice BlockShares::allocate(std::int64_t numel,
                                            DType dtype,
                                            Category category) const {
  ByDevice shares;
  for (const Device device : devices_)
    shares.push_back(allocate_share(numel / size(), dtype, home_.value_or(device), category));
  return shares;
}

void BlockShares::add_block(const Tensor& values) {
  numels_.push_back(values.numel());
  values_.push_back(allocate(values.numel(), values.dtype(), Category::parameter));
  scatter(Of::values, static_cast<int>(values_.size()) - 1, values);
}

void BlockShares::add_gradients(const optim::ArenaLayout& layout) {
  for (const optim::ArenaBlock& block : layout.blocks()) {
    if (values_.empty()) numels_.push_back(block.numel);
    gradients_.push_back(block.trains == optim::Trains::yes
                             ? allocate(block.numel, block.dtype, Category::gradient)
                             : ByDevice(devices_.size()));
  }
}

Share BlockShares::share(int block, int d) const {
  return even_share(numels_.at(static_cast<std::size_t>(block)), d, size());
}

const Tensor& BlockShares::at(Of of, int block, int d) const {
  const auto& blocks = of == Of::values ? values_ : gradients_;
  return blocks.at(static_cast<std::size_t>(block)).at(static_cast<std::size_t>(d));
}

void BlockShares::gather_ahead(int block, int d) {
  ahead_of(d).note(block, context(), [&](int next) { return begin_gather(next, d); });
}

FillingBuffer BlockShares::begin_gather(int block, int d) const {
  const ContextScope scope([](Context& c) {
    c.phase = Phase::replicate;
    c.category = Category::parameter;
  });
  std::vector<BufferPart> parts;
  for (int from = 0; from < size(); ++from) {
    const Tensor& share = at(Of::values, block, from);
    const std::size_t size = itemsize(share.dtype());
    parts.push_back({&share.buffer(),
                     static_cast<std::size_t>(share.impl().offset) * size,
                     static_cast<std::size_t>(share.numel()) * size});
  }
  return fill(parts, device(d));
}

Tensor BlockShares::reduced(int block, int d) {
  const Tensor& share = at(Of::gradients, block, d);
  if (!home_) return share;
  return incoming_.at(static_cast<std::size_t>(d)).place(block, share, share.dtype(), device(d));
}

void BlockShares::end_reduction(int block, int d) {
  const Tensor come = incoming_.at(static_cast<std::size_t>(d)).take(block);
  if (!come.defined()) return;
  const ContextScope scope([](Context& c) { c.phase = Phase::reduce; });
  copy_elements(come, 0, at(Of::gradients, block, d), 0, come.numel());
}

void BlockShares::copy(Of of, int block, const Tensor& whole, To to) const {
  const ContextScope scope(
      [&](Context& c) { c.phase = of == Of::values ? Phase::replicate : Phase::reduce; });
  // Each device begins with its own share. If all began with device 0's, its links would have to
  // serve all of them at once.
  const auto first = std::ranges::find(devices_, whole.device()) - devices_.begin();
  for (int k = 0; k < size(); ++k) {
    const int d = (static_cast<int>(first) + k) % size();
    const Share own = share(block, d);
    const Tensor& part = at(of, block, d);
    if (to == To::whole)
      copy_elements(part, 0, whole, own.begin, own.size());
    else
      copy_elements(whole, own.begin, part, 0, own.size());
  }
}

}  // namespace tandem::parallel
