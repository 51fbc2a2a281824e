// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "tandem/runtime/buffer.hpp"
#include "tandem/runtime/event.hpp"

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

/// Bytes [offset, offset + nbytes) of a buffer.
struct BufferPart {
  const Buffer* buffer = nullptr;
  std::size_t offset = 0;
  std::size_t nbytes = 0;
};

/// A buffer that fills on a device beside the work that the device has been given, until somebody
/// takes it. To be used by one thread at a time.
class FillingBuffer {
 public:
  /// @param end  after it the bytes are there; null: they are there now.
  FillingBuffer(std::shared_ptr<Buffer> target, std::shared_ptr<const Event> end) noexcept
      : target_(std::move(target)), end_(std::move(end)) {}
  ~FillingBuffer();
  FillingBuffer(FillingBuffer&&) noexcept = default;
  FillingBuffer& operator=(FillingBuffer&&) = delete;

  /// The buffer. What the device's main stream is given from now on waits for the bytes. To be
  /// called once.
  std::shared_ptr<Buffer> take();

 private:
  std::shared_ptr<Buffer> target_;  // null: taken
  std::shared_ptr<const Event> end_;
};

/// A new buffer on `device`, in the context's category, which gets copies of `parts`, one after the
/// other, from any devices.
///
/// A GPU copies on the stream of uploads, after the work that the parts' devices have been given so
/// far. Later writes to the parts wait for the copies, reads do not. On the host these are plain
/// copies.
/// @throws OutOfMemory, DeviceError
/// @throws Timeout, CommAborted  while waiting for bytes of the parts that are in transit.
FillingBuffer fill(std::span<const BufferPart> parts, Device device);

}  // namespace tandem
