// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/optim/arena_layout.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "tandem/core/check.hpp"
#include "tandem/runtime/allocator.hpp"

namespace tandem::optim {

bool is_dense(const Shape& shape, const Strides& strides) {
  if (numel(shape) == 0) return is_contiguous(shape, strides);
  std::vector<std::pair<std::int64_t, std::int64_t>> dims;  // stride, size
  for (int d = 0; d < shape.size(); ++d) {
    if (shape[d] > 1) dims.emplace_back(strides[d], shape[d]);
  }
  std::sort(dims.begin(), dims.end());
  std::int64_t expected = 1;
  for (const auto& [stride, size] : dims) {
    if (stride != expected) return false;
    expected *= size;
  }
  return true;
}

ArenaLayout::ArenaLayout(const std::vector<ArenaEntry>& entries, std::int64_t multiple) {
  std::unordered_map<const TensorImpl*, const ArenaEntry*> first;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const ArenaEntry& entry = entries[i];
    TANDEM_CHECK(entry.tensor.defined(), "arena: '", entry.name, "' is an undefined tensor");
    TANDEM_CHECK(entry.tensor.is_leaf(),
                 "arena: '",
                 entry.name,
                 "' (",
                 entry.tensor.describe(),
                 ") is the result of an op; give the parameter itself");
    const auto [at, is_new] = first.emplace(&entry.tensor.impl(), &entry);
    if (is_new) {
      add(entry);
      sources_.push_back(i);
      continue;
    }
    TANDEM_CHECK(at->second->group == entry.group,
                 "arena: '",
                 entry.name,
                 "' and '",
                 at->second->name,
                 "' are one tensor, but they are in groups ",
                 entry.group,
                 " and ",
                 at->second->group,
                 "; a tensor belongs to one group");
  }
  pad(multiple);
}

void ArenaLayout::pad(std::int64_t multiple) {
  for (const int b : block_indices()) {
    ArenaBlock& block = blocks_[static_cast<std::size_t>(b)];
    const std::int64_t lacking = (multiple - block.numel % multiple) % multiple;
    const auto last = std::find_if(
        places_.rbegin(), places_.rend(), [b](const ArenaPlace& at) { return at.block == b; });
    last->extent += lacking;
    block.numel += lacking;
  }
}

void ArenaLayout::add(const ArenaEntry& entry) {
  const Tensor& x = entry.tensor;
  const Trains trains = x.requires_grad() ? Trains::yes : Trains::no;
  auto block = std::find_if(blocks_.begin(), blocks_.end(), [&](const ArenaBlock& b) {
    return b.dtype == x.dtype() && b.group == entry.group && b.unit == entry.unit &&
           b.trains == trains;
  });
  if (block == blocks_.end())
    block = blocks_.insert(blocks_.end(), {x.dtype(), entry.group, entry.unit, trains, 0});

  const auto align = static_cast<std::int64_t>(Allocator::kAlignment / itemsize(x.dtype()));
  const std::int64_t extent = (x.numel() + align - 1) / align * align;
  const bool dense = is_dense(x.shape(), x.strides());
  places_.push_back({entry.name,
                     static_cast<int>(block - blocks_.begin()),
                     block->numel,
                     extent,
                     x.shape(),
                     dense ? x.strides() : contiguous_strides(x.shape())});
  block->numel += extent;
}

const ArenaPlace& ArenaLayout::first_place(int block) const {
  return *std::ranges::find(places_, block, &ArenaPlace::block);
}

std::vector<int> ArenaLayout::blocks_of(int unit) const {
  std::vector<int> blocks;
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    if (blocks_[b].unit == unit) blocks.push_back(static_cast<int>(b));
  }
  return blocks;
}

std::size_t ArenaLayout::nbytes() const noexcept {
  std::size_t total = 0;
  for (const ArenaBlock& block : blocks_)
    total += block.nbytes();
  return total;
}

std::shared_ptr<const ModuleShares> ArenaLayout::module_shares(int block,
                                                               std::int64_t begin,
                                                               std::int64_t end,
                                                               std::size_t item_nbytes) const {
  auto shares = std::make_shared<ModuleShares>();
  for (const ArenaPlace& at : places_) {
    const std::int64_t count = std::min(end, at.offset + at.extent) - std::max(begin, at.offset);
    if (at.block != block || count <= 0) continue;
    const std::size_t dot = at.name.rfind('.');
    const std::string path = dot == std::string::npos ? "" : at.name.substr(0, dot);
    if (shares->empty() || shares->back().module_path != path) shares->push_back({path, 0});
    shares->back().nbytes += static_cast<std::size_t>(count) * item_nbytes;
  }
  return shares;
}

std::size_t ArenaLayout::gradient_nbytes() const noexcept {
  std::size_t total = 0;
  for (const ArenaBlock& block : blocks_) {
    if (block.trains == Trains::yes) total += block.nbytes();
  }
  return total;
}

}  // namespace tandem::optim
