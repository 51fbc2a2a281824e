// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "tandem/runtime/context.hpp"

namespace tandem::libtorch {

class TorchSource;

// `torch.utils.checkpoint` runs a part of a replica's forward again within backward, on a thread of
// PyTorch's engine, where no replica is known. It first reads the state of the device's generator,
// in forward, and sets it again before it runs the part. So that state carries the place with it:
// with it, batch norms of the part see the rows of all replicas, and masks that go by rows are
// those of the forward.
//
// PyTorch sets the host's generator back as well, which all threads have: one that begins while
// another one computes again takes the forward's state for the program's, and leaves it behind. So
// the state of before the first one is set when the last one has ended.

/// A place in a replica's forward. Immutable, so thread-safe.
class ForwardPlace {
 public:
  /// Where the calling thread is; null: in no replica's forward. In a backward the host's generator
  /// is kept from then on, until recompute_from is called with null.
  static std::shared_ptr<const ForwardPlace> current();

  ForwardPlace(std::shared_ptr<TorchSource> source, std::shared_ptr<const Context> context);
  const std::shared_ptr<TorchSource>& source() const noexcept { return source_; }
  /// The forward's, in the backward that the calling thread works for; its draws go on from here.
  std::shared_ptr<const Context> in_backward() const;

 private:
  std::shared_ptr<TorchSource> source_;
  std::shared_ptr<const Context> context_;
  ForwardFrame frame_;  // of the forward, as it was here
};

/// From now on the calling thread computes from there again. Null ends that. Outside of a backward
/// nothing happens.
void recompute_from(const std::shared_ptr<const ForwardPlace>& place);

}  // namespace tandem::libtorch
