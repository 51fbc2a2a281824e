// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tandem/comm/communicator.hpp"
#include "tandem/optim/arena_keeper.hpp"
#include "tandem/optim/arena_layout.hpp"

#include "core/even_share.hpp"
#include "parallel/units/block_store.hpp"

namespace tandem::parallel {

/// One rank's shares of an arena's blocks. The other ranks have theirs, so a whole block is
/// gathered by a collective, for which all ranks have to come: in a forward, in a backward, or
/// where the shares have been opened on all ranks.
///
/// To be used on the rank's thread.
class RankShares final : public BlockStore {
 public:
  /// @param group  of the ranks that have the shares of one copy; outlives this object.
  explicit RankShares(comm::Communicator& group)
      : group_(&group), rank_(group.rank()), ranks_(group.size()) {}

  /// Takes this rank's share of a block's values. Blocks come in their order. @throws OutOfMemory
  void add_block(const Tensor& values);
  /// Allocates the gradients of the blocks that train. @throws OutOfMemory
  ///
  /// @param units  the paths of the units' modules. A block of another unit is the module's own.
  void add_gradients(const optim::ArenaLayout& layout, const std::vector<std::string>& units);

  int rank() const noexcept { return rank_; }
  int blocks() const noexcept { return static_cast<int>(blocks_.size()); }
  /// The elements of a block that this rank has.
  Share share(int block) const;
  const Tensor& at(Of of, int block, int rank) const override;
  void gather(Of of, int block, const Tensor& whole) const override;
  void scatter(Of of, int block, const Tensor& whole) const override;
  /// While a backward adds to gradients of earlier ones, what it makes is apart from them until all
  /// blocks have been reduced.
  Tensor reduced(int block, int rank) const override;
  void end_backward() const override;

  /// The backward that follows adds to the shares of blocks that have gradients.
  ///
  /// @param adds_to  by block.
  void begin_backward(std::vector<std::uint8_t> adds_to);
  /// Lets whole blocks be gathered from anywhere, or no more.
  void set_open(bool open) noexcept { open_ = open; }
  /// The wrapper has ended: no whole block can be gathered any more.
  void end() noexcept { group_ = nullptr; }

 private:
  struct Block {
    std::string unit;  // its module's path; "": the root
    std::int64_t numel = 0;
    Tensor values, gradients;
  };
  void check_open(const Block& block) const;
  const Block& block(int index) const { return blocks_.at(static_cast<std::size_t>(index)); }

  comm::Communicator* group_;  // null: ended
  const int rank_, ranks_;
  std::vector<Block> blocks_;
  std::vector<std::uint8_t> adds_to_;  // by block
  mutable std::vector<Tensor> added_;  // by block: what a backward adds
  bool open_ = false;
};

}  // namespace tandem::parallel
