// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "tandem/runtime/buffer.hpp"
#include "tandem/runtime/logical_device.hpp"

#include "runtime/gpu/gpu_device.hpp"
#include "runtime/gpu/memory_order.hpp"

namespace tandem::comm {

/// Memory of a GPU for work on its side stream: taken, used and given back in that stream's order,
/// so that neither it nor the main stream waits for the other.
class Staged {
 public:
  /// @throws OutOfMemory, DeviceError
  Staged(const LogicalDevice& device, std::size_t nbytes)
      : buffer_(in_side_order(device, nbytes)) {}
  void* data() const noexcept { return buffer_.data(); }

 private:
  static Buffer in_side_order(const LogicalDevice& device, std::size_t nbytes) {
    GpuStream* const side = device.gpu()->side_stream();
    const MemoryOrder order(side, side);
    return {device.device(), nbytes, Category::communication};
  }

  Buffer buffer_;
};

}  // namespace tandem::comm
