// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "libtorch/modules/torch_source.hpp"

namespace tandem::libtorch {

/// The gradients of the user's parameters: `p.grad()` of PyTorch and the gradient of tandem's
/// tensor over the same parameter. Between calls PyTorch's counts, and has the arena's memory where
/// it can.
class ShownGradients {
 public:
  ShownGradients() = default;
  /// @param source  of device 0, settled; it outlives this object.
  explicit ShownGradients(const TorchSource& source);

  /// Before a call: gives tandem the gradients that the user's parameters have now. They may have
  /// been dropped, written to, or replaced.
  void take();
  /// The same before an update that uses them: `clip_grad_norm_` writes without being counted, so
  /// all of them count as written.
  void take_written();
  /// After a call: gives the parameters their gradients. They are read, which makes them whole.
  void show() const;
  /// The same without reading. To be used where all of them lie on device 0.
  void show_as_they_lie() const;
  /// After a call that leaves the gradients in the devices' shares: the parameters have none.
  void hide() const;

 private:
  struct Entry {
    Tensor shown;               // the parameter
    at::Tensor own;             // the same, the user's
    Tensor storage;             // of its gradient, in the arena
    at::Tensor gradient;        // over the storage
    std::uint32_t version = 0;  // of `gradient`, when it was last shown or taken
  };
  static void set(const Entry& entry, bool is_defined);

  std::vector<Entry> entries_;
};

}  // namespace tandem::libtorch
