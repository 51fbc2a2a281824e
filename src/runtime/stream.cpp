// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/runtime/stream.hpp"

#include "tandem/runtime/logical_device.hpp"

#include "runtime/gpu/gpu_stream.hpp"

namespace tandem {

Device Stream::device() const noexcept {
  return device_->device();
}

void Stream::synchronize(const char* op) const {
  if (native_ != nullptr) native_->synchronize(op);
}

}  // namespace tandem
