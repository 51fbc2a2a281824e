// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "tandem/runtime/buffer.hpp"
#include "tandem/runtime/event.hpp"
#include "tandem/runtime/logical_device.hpp"

#include "runtime/cuda/backend.hpp"

namespace tandem::comm {

/// Memory of a GPU for work on its side stream: made in the main stream's order, used in the side
/// stream's, and given back after both.
class Staged {
 public:
  /// @throws OutOfMemory, DeviceError
  Staged(LogicalDevice& device, std::size_t nbytes)
      : device_(device), buffer_(device.device(), nbytes, Category::communication) {
    order(device.stream(), device.side_stream());
  }
  ~Staged() {
    try {
      order(device_.side_stream(), device_.stream());
    } catch (...) {  // the buffer goes back in the main stream's order
      cuda::drain(*device_.cuda(), device_.side_stream().native());
    }
  }
  Staged(const Staged&) = delete;
  Staged& operator=(const Staged&) = delete;
  void* data() const noexcept { return buffer_.data(); }

 private:
  /// `then` goes on after the work of `first` so far.
  static void order(const Stream& first, const Stream& then) {
    Event event;
    event.record(first);
    event.wait(then, "collective");
  }

  LogicalDevice& device_;
  Buffer buffer_;
};

}  // namespace tandem::comm
