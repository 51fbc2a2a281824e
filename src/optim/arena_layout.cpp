// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/optim/arena_layout.hpp"

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <utility>

#include "tandem/autograd/gradient_source.hpp"
#include "tandem/core/check.hpp"
#include "tandem/runtime/allocator.hpp"

namespace tandem::optim {

namespace {

std::int64_t round_up(std::int64_t n, std::int64_t multiple) noexcept {
  return (n + multiple - 1) / multiple * multiple;
}

}  // namespace

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

ArenaLayout::ArenaLayout(const std::vector<ArenaEntry>& entries, BlockPadding padding)
    : keeps_tensors_whole_(padding.parts > 0) {
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
  for (const int b : block_indices()) {
    if (padding.parts > 0)
      divide(b, padding);
    else
      pad(b, padding.multiple);
  }
}

std::vector<std::size_t> ArenaLayout::places_of(int block) const {
  std::vector<std::size_t> found;
  for (const std::size_t p : place_indices())
    if (places_[p].block == block) found.push_back(p);
  return found;
}

void ArenaLayout::pad(int block, std::int64_t multiple) {
  ArenaBlock& padded = blocks_[static_cast<std::size_t>(block)];
  const std::int64_t numel = round_up(padded.numel, multiple);
  places_[places_of(block).back()].extent += numel - padded.numel;
  padded.numel = numel;
}

void ArenaLayout::divide(int block, const BlockPadding& padding) {
  struct Member {
    ArenaPlace place;
    std::size_t source;
  };
  std::vector<Member> members;
  const std::vector<std::size_t> own = places_of(block);
  for (const std::size_t p : own)
    members.push_back({places_[p], sources_[p]});
  std::ranges::stable_sort(members, std::greater(), [](const Member& m) { return m.place.extent; });
  std::vector<std::vector<Member>> parts(static_cast<std::size_t>(padding.parts));
  const auto size_of = [](const std::vector<Member>& part) {
    std::int64_t size = 0;
    for (const Member& m : part)
      size += m.place.extent;
    return size;
  };
  for (const Member& m : members)
    std::ranges::min_element(parts, {}, size_of)->push_back(m);

  const std::int64_t longest = size_of(*std::ranges::max_element(parts, {}, size_of));
  const std::int64_t size = round_up(longest, padding.multiple / padding.parts);
  auto to = own.begin();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::ranges::sort(parts[i], {}, &Member::source);
    std::int64_t offset = static_cast<std::int64_t>(i) * size;
    const std::int64_t end = offset + size;
    for (Member& m : parts[i]) {
      m.place.offset = offset;
      offset += m.place.extent;
    }
    if (!parts[i].empty()) parts[i].back().place.extent += end - offset;
    for (Member& m : parts[i]) {
      places_[*to] = std::move(m.place);
      sources_[*to++] = m.source;
    }
  }
  blocks_[static_cast<std::size_t>(block)].numel = size * padding.parts;
}

void ArenaLayout::add(const ArenaEntry& entry) {
  const Tensor& x = entry.tensor;
  // A frozen tensor may have a gradient from before, which keeps its place.
  const bool has_gradient = x.requires_grad() || autograd::stored_gradient(x).defined();
  const Trains trains = has_gradient ? Trains::yes : Trains::no;
  auto block = std::find_if(blocks_.begin(), blocks_.end(), [&](const ArenaBlock& b) {
    return b.dtype == x.dtype() && b.group == entry.group && b.unit == entry.unit &&
           b.trains == trains;
  });
  if (block == blocks_.end())
    block = blocks_.insert(blocks_.end(), {x.dtype(), entry.group, entry.unit, trains, 0});

  const auto align = static_cast<std::int64_t>(Allocator::kAlignment / itemsize(x.dtype()));
  const std::int64_t extent = round_up(x.numel(), align);
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
