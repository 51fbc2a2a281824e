// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "tandem/optim/arena_layout.hpp"
#include "tandem/tensor/tensor.hpp"

#include "core/even_share.hpp"
#include "parallel/units/block_store.hpp"
#include "parallel/units/gathered_ahead.hpp"
#include "parallel/units/incoming_shares.hpp"

namespace tandem::parallel {

/// Values and gradients of an arena's blocks, cut into one equal share for each device, which has
/// it for good.
///
/// While replicas run, shares are only read; then any thread may. What is of one device is used on
/// its thread.
class BlockShares final : public BlockStore {
 public:
  /// Bytes to which each share of a block is padded, so that collectives of equal parts take it.
  static constexpr std::size_t kShareAlignment = 256;
  /// What ArenaOptions::padding has to be.
  ///
  /// @param whole_tensors  whether a share has whole tensors only.
  static optim::BlockPadding padding(std::size_t devices, bool whole_tensors) noexcept;

  /// @param home  where the shares are kept, outside of `devices`; none: each is on its device.
  /// @param prefetch  how many blocks a device gathers ahead of those that work uses.
  explicit BlockShares(std::vector<Device> devices,
                       std::optional<Device> home = std::nullopt,
                       std::size_t prefetch = 0)
      : devices_(std::move(devices)), home_(home), incoming_(devices_.size()) {
    for (std::size_t d = 0; d < devices_.size(); ++d)
      ahead_.emplace_back(prefetch);
  }

  /// Takes a block's values, on each device its share. Blocks come in their order; without them
  /// there are gradients alone.
  ///
  /// @throws OutOfMemory
  void add_block(const Tensor& values);
  /// Allocates the gradients of the blocks that train. @throws OutOfMemory
  void add_gradients(const optim::ArenaLayout& layout);

  int size() const noexcept { return static_cast<int>(devices_.size()); }
  Device device(int d) const { return devices_.at(static_cast<std::size_t>(d)); }
  /// The elements of a block that a device has.
  Share share(int block, int d) const;
  const Tensor& at(Of of, int block, int d) const override;
  /// Whole blocks may be on any device.
  void gather(Of of, int block, const Tensor& whole) override { copy(of, block, whole, To::whole); }
  void scatter(Of of, int block, const Tensor& whole) override {
    copy(of, block, whole, To::shares);
  }
  std::shared_ptr<Buffer> take_gathered(int block, int d) override {
    return ahead_of(d).take(block);
  }
  void gather_ahead(int block, int d) override;
  void end_job(int d) override { ahead_of(d).end_job(); }
  Tensor reduced(int block, int d) override;
  void end_reduction(int block, int d) override;
  void end_backward(int d) override { incoming_.at(static_cast<std::size_t>(d)).clear(); }

 private:
  using ByDevice = std::vector<Tensor>;
  enum class To : std::uint8_t { whole, shares };
  void copy(Of of, int block, const Tensor& whole, To to) const;
  GatheredAhead& ahead_of(int d) { return ahead_.at(static_cast<std::size_t>(d)); }
  FillingBuffer begin_gather(int block, int d) const;
  ByDevice allocate(std::int64_t numel, DType dtype, Category category) const;

  std::vector<Device> devices_;
  std::optional<Device> home_;
  std::vector<IncomingShares> incoming_;  // by device
  std::deque<GatheredAhead> ahead_;       // by device
  std::vector<std::int64_t> numels_;      // by block
  std::vector<ByDevice> values_, gradients_;
};

}  // namespace tandem::parallel
