// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tandem/core/indices.hpp"
#include "tandem/tensor/tensor.hpp"

namespace tandem::optim {

/// A tensor to be laid out in an arena.
struct ArenaEntry {
  std::string name;  ///< "conv1.weight"; for messages and state dicts
  Tensor tensor;     ///< a leaf
  int group = 0;     ///< index of the optimizer's parameter group
  int unit = 0;      ///< tensors of one unit are gathered and given back together
};

/// Whether a tensor has a gradient. Tensors without one are in separate blocks, which have no
/// gradient storage.
enum class Trains : std::uint8_t { no, yes };

/// Flat storage of one unit, dtype and group.
struct ArenaBlock {
  DType dtype = DType::f32;
  int group = 0;
  int unit = 0;
  Trains trains = Trains::yes;
  std::int64_t numel = 0;  ///< elements, including padding

  std::size_t nbytes() const noexcept { return static_cast<std::size_t>(numel) * itemsize(dtype); }
};

/// Where one tensor lies.
struct ArenaPlace {
  std::string name;
  int block = 0;            ///< index into ArenaLayout::blocks()
  std::int64_t offset = 0;  ///< first element in the block
  std::int64_t extent = 0;  ///< elements up to the next place, including padding
  Shape shape;
  Strides strides;  ///< the tensor's own strides if it was dense, otherwise row-major
};

/// How the blocks of a layout are padded.
struct BlockPadding {
  std::int64_t multiple = 1;  ///< of which each block's number of elements is to be one
  /// Not 0: each block has so many equal parts, and no tensor crosses from one into another. The
  /// largest tensors come first, each into the part that has least so far. `multiple` is one of it.
  int parts = 0;
};

/// Offsets of tensors in flat storage. All replicas have the same layout, whatever their device.
///
/// Tensors of one (unit, dtype, group, trains) share a block and lie in it in the order given, or,
/// with BlockPadding::parts, in that order within each part. Each begins at a multiple of
/// Allocator::kAlignment bytes and is followed by zeros up to the next multiple. A tensor that is
/// listed twice (tied weights) has one place, under its first name and in its first unit.
class ArenaLayout {
 public:
  ArenaLayout() = default;
  /// @throws InvalidArgument  if a tensor is undefined, is not a leaf, or is in two groups.
  explicit ArenaLayout(const std::vector<ArenaEntry>& entries, BlockPadding padding = {});

  /// One place for each distinct tensor, in the order of the entries, and within a block by offset.
  const std::vector<ArenaPlace>& places() const noexcept { return places_; }
  const std::vector<ArenaBlock>& blocks() const noexcept { return blocks_; }
  /// The indices of places(), for what is kept by place.
  Indices<std::size_t> place_indices() const noexcept { return Indices(places_.size()); }
  /// The indices of blocks(), for what is kept by block.
  Indices<int> block_indices() const noexcept { return Indices(static_cast<int>(blocks_.size())); }
  /// The first place of a block.
  const ArenaPlace& first_place(int block) const;
  /// The blocks of a unit, in order; empty if no tensor is in it.
  std::vector<int> blocks_of(int unit) const;
  /// For each place, the index of its entry.
  const std::vector<std::size_t>& sources() const noexcept { return sources_; }
  /// Whether no tensor crosses from one part of its block into another.
  bool keeps_tensors_whole() const noexcept { return keeps_tensors_whole_; }
  /// P: bytes of all blocks, including the padding of each tensor to Allocator::kAlignment. This is
  /// what parameters take on a device, and what a broadcast sends to it.
  std::size_t nbytes() const noexcept;
  /// Bytes of the gradients of all blocks that train.
  std::size_t gradient_nbytes() const noexcept;
  /// Bytes of elements [begin, end) of a block by owning module, taken from the names of the
  /// tensors. A tensor's padding counts as its own.
  ///
  /// @param item_nbytes  bytes that are stored for each element
  std::shared_ptr<const ModuleShares> module_shares(int block,
                                                    std::int64_t begin,
                                                    std::int64_t end,
                                                    std::size_t item_nbytes) const;
  /// The tensors of a block are of another type from now on.
  void set_dtype(int block, DType dtype) {
    blocks_.at(static_cast<std::size_t>(block)).dtype = dtype;
  }
  /// A block of tensors that were frozen has gradients from now on.
  void note_unfrozen(std::size_t block) { blocks_.at(block).trains = Trains::yes; }

 private:
  void add(const ArenaEntry& entry);
  std::vector<std::size_t> places_of(int block) const;
  void pad(int block, std::int64_t multiple);
  void divide(int block, const BlockPadding& padding);

  std::vector<ArenaPlace> places_;
  std::vector<ArenaBlock> blocks_;
  std::vector<std::size_t> sources_;
  bool keeps_tensors_whole_ = false;
};

/// Whether the strides fill a block of numel(shape) elements without gap or overlap, in any order
/// of dimensions.
bool is_dense(const Shape& shape, const Strides& strides);

}  // namespace tandem::optim
