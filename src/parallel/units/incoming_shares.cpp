// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/units/incoming_shares.hpp"

#include <cstddef>
#include <utility>

#include "parallel/units/allocate_share.hpp"

namespace tandem::parallel {

Tensor IncomingShares::place(int block, const Tensor& like, DType dtype, Device device) {
  const auto b = static_cast<std::size_t>(block);
  if (b >= by_block_.size()) by_block_.resize(b + 1);
  if (!by_block_[b].defined())
    by_block_[b] = allocate_share(like.numel(), dtype, device, Category::gradient);
  return by_block_[b];
}

Tensor IncomingShares::take(int block) {
  const auto b = static_cast<std::size_t>(block);
  return b < by_block_.size() ? std::exchange(by_block_[b], {}) : Tensor();
}

}  // namespace tandem::parallel
