// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "tandem/tensor/tensor.hpp"

namespace tandem::parallel {

/// Has the bytes of an arena's blocks while these sleep: one equal share of each on each device.
class BlockStore {
 public:
  enum class Of : std::uint8_t { values, gradients };

  virtual ~BlockStore() = default;
  /// A device's share of a block, flat; undefined if the block does not train.
  virtual const Tensor& at(Of of, int block, int device) const = 0;
  /// Copies all shares of a block to `whole`. @throws InvalidArgument  they may not be read now.
  virtual void gather(Of of, int block, const Tensor& whole) = 0;
  /// Writes a whole block to the shares.
  virtual void scatter(Of of, int block, const Tensor& whole) = 0;
  /// The whole values of a block, if they have been gathered ahead; null: they have not.
  virtual std::shared_ptr<Buffer> take_gathered(int /*block*/, int /*device*/) { return nullptr; }
  /// Work has got the values of a block, so those that are likely to follow may be gathered.
  virtual void gather_ahead(int /*block*/, int /*device*/) {}
  /// A device's job has ended.
  virtual void end_job(int /*device*/) {}
  /// What is sent of a block's gradients.
  virtual Tensor outgoing(const Tensor& whole) const { return whole; }
  /// Where a device's share of a reduction goes.
  virtual Tensor reduced(int block, int device) { return at(Of::gradients, block, device); }
  /// The share of a block has come there.
  virtual void end_reduction(int /*block*/, int /*device*/) {}
  /// No more shares come: all blocks have been reduced, or a backward has failed.
  virtual void end_backward(int /*device*/) {}
};

}  // namespace tandem::parallel
