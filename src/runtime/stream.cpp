// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/runtime/stream.hpp"

#include "tandem/config.hpp"
#include "tandem/runtime/logical_device.hpp"

#include "runtime/cuda/backend.hpp"

namespace tandem {

Device Stream::device() const noexcept {
  return device_->device();
}

void Stream::synchronize(const char* op) const {
  if constexpr (has_cuda) {
    if (native_ != nullptr) cuda::synchronize(*device_->cuda(), native_, op);
  }
}

}  // namespace tandem
