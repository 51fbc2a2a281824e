// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tandem/comm/communicator.hpp"
#include "tandem/optim/arena_keeper.hpp"
#include "tandem/optim/arena_layout.hpp"

#include "core/even_share.hpp"
#include "parallel/units/block_store.hpp"
#include "parallel/units/gather_order.hpp"
#include "parallel/units/incoming_shares.hpp"

namespace tandem::parallel {

/// One rank's shares of an arena's blocks. The other ranks have theirs, so a whole block is
/// gathered by a collective, for which all ranks have to come: in a forward, in a backward, or
/// where the shares have been opened on all ranks.
///
/// To be used on the rank's thread.
class RankShares final : public BlockStore {
 public:
  /// @param group  of the ranks that have the shares of one copy; outlives this object.
  /// @param prefetch  how many blocks are gathered ahead of those that work uses.
  /// @param home      where this rank's shares are kept; none: on its device.
  /// @param reduce_dtype  in which gradients are added up; none: in that of the blocks.
  RankShares(comm::Communicator& group,
             std::size_t prefetch,
             std::optional<Device> home,
             std::optional<DType> reduce_dtype)
      : group_(group),
        rank_(group.rank()),
        ranks_(group.size()),
        prefetch_(prefetch),
        home_(home.value_or(group.device())),
        reduce_dtype_(reduce_dtype) {}

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
  void gather(Of of, int block, const Tensor& whole) override;
  void scatter(Of of, int block, const Tensor& whole) override;
  std::shared_ptr<Buffer> take_gathered(int block, int rank) override;
  void gather_ahead(int block, int rank) override;
  /// Where a backward adds to gradients of earlier ones, what it makes is apart from them until all
  /// of it has been reduced, so that one that fails leaves them as they were.
  Tensor outgoing(const Tensor& whole) const override {
    return whole.to(reduce_dtype_.value_or(whole.dtype()));
  }
  Tensor reduced(int block, int rank) override;
  void end_reduction(int block, int rank) override;
  void end_backward(int rank) override;
  /// Adds what a backward has reduced to the gradients of earlier ones. Allocates nothing.
  void add_reduced();
  /// A backward has failed: gradients of earlier ones are as they were.
  void discard_backward();

  /// A forward begins, or has ended. Waits for what was gathered in vain.
  void begin_pass(GatherOrder::Pass pass);
  /// The order in which units have been used; see GatherOrder.
  GatherOrder& order() noexcept { return order_; }
  /// The backward that follows adds to the shares of blocks that have gradients.
  ///
  /// @param adds_to  by block.
  void begin_backward(std::vector<std::uint8_t> adds_to);
  /// Makes the gradients of a range of a block zero, where this rank has them.
  void clear_gradients(int block, Share range);
  /// Gathers a block's values in the type that they are kept in, from anywhere. Collective.
  Tensor gather_masters(int block);
  /// The wrapper has ended: no whole block can be gathered any more.
  void end() noexcept { has_ended_ = true; }

 private:
  struct Block {
    std::string unit;  // its module's path; "": the root
    std::int64_t numel = 0;
    DType dtype{};  // in which it is gathered
    Tensor values, gradients;
  };
  /// A block that is being gathered.
  struct Ahead {
    int block = 0;
    Tensor own;
    std::shared_ptr<Buffer> whole;
    comm::Handle handle;
  };
  void check_open(const Block& block) const;
  /// Whether the present backward adds to gradients of a block.
  bool adds_to(int block) const noexcept {
    const auto b = static_cast<std::size_t>(block);
    return b < adds_to_.size() && adds_to_[b] != 0;
  }
  /// Waits for what has been gathered ahead, and drops it.
  void end_ahead() noexcept;
  /// This rank's share, on its device and in a type.
  Tensor own_on_device(Of of, int block, DType dtype) const;
  comm::Handle start_gather(Of of, int block, const Tensor& own, const Tensor& whole);
  const Block& block(int index) const { return blocks_.at(static_cast<std::size_t>(index)); }

  comm::Communicator& group_;
  const int rank_, ranks_;
  const std::size_t prefetch_;
  const Device home_;
  const std::optional<DType> reduce_dtype_;
  GatherOrder order_;
  std::deque<Ahead> ahead_;  // in the order in which they are used
  std::vector<Block> blocks_;
  std::string left_out_;  // says which unit this rank was to use next, and did not; "": none
  std::vector<std::uint8_t> adds_to_;  // by block
  IncomingShares incoming_;
  struct Sum {
    Tensor gradients, reduced;
  };
  std::vector<Sum> sums_;  // that add_reduced makes
  bool has_ended_ = false;
};

}  // namespace tandem::parallel
