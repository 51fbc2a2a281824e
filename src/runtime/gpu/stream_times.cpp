// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/gpu/stream_times.hpp"

#include "runtime/gpu/gpu_stream.hpp"

namespace tandem {

std::shared_ptr<const StreamPoint> point_of(const Stream& stream) noexcept {
  try {
    return stream.native()->point();
  } catch (...) {
    return nullptr;
  }
}

}  // namespace tandem
