// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include "tandem/runtime/buffer.hpp"

namespace tandem {

/// A new buffer on `device`, in the context's category, with a copy of `nbytes` bytes of a buffer
/// on the host.
///
/// A GPU takes the memory and copies beside the work that it has been given; work that it is given
/// later waits for the copy. The calling thread does not wait for the GPU, unless the system has
/// refused to pin the source's memory. Until the GPU has read the source, `dispatch`, `write` and
/// `copy_bytes` wait before they write to it, and so does the source's destructor; what the host
/// writes to its address by itself does not wait. On the host it is a plain copy.
/// @throws OutOfMemory, DeviceError
/// @throws Timeout, CommAborted  while waiting for bytes of the source that are in transit.
std::shared_ptr<Buffer> upload(const Buffer& source,
                               std::size_t offset,
                               std::size_t nbytes,
                               Device device);

}  // namespace tandem
