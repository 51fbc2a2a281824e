// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>

#include "tandem/runtime/buffer_source.hpp"

namespace tandem {

/// How a buffer gives its memory back and finds it again. The buffer and the views of it stay, with
/// version, category and owner.
///
/// Nothing may use the buffer while its memory comes or goes, as for its destruction.
class Dropped {
 public:
  /// @param unit  what the buffer is dropped with from the start; null: it is not.
  Dropped(Buffer& buffer, std::shared_ptr<const std::string> unit) noexcept
      : buffer_(buffer), unit_(std::move(unit)) {}
  Dropped(const Dropped&) = delete;
  Dropped& operator=(const Dropped&) = delete;

  /// Gives the memory back. Work on the buffer then asks its source for the bytes, and throws if it
  /// has none. Bytes in transit are waited for.
  ///
  /// @param unit  what is dropped with it, for messages: "blocks.3".
  /// @throws InvalidArgument  it is dropped already, adopted, or lent. @throws Timeout, CommAborted
  void drop(std::shared_ptr<const std::string> unit);
  /// Takes memory again. The bytes are not initialised. Does nothing if it is not dropped.
  ///
  /// @throws OutOfMemory  it stays dropped.
  void wake();
  /// Takes the memory of another buffer, with its bytes. That one is dropped then.
  ///
  /// @param other  awake, of this device, size and category, with all its bytes arrived.
  void wake(Buffer& other);
  /// From now on work on the buffer gets the bytes from `source` where it is dropped. Null: from
  /// nobody.
  void set_source(std::shared_ptr<BufferSource> source) noexcept { source_ = std::move(source); }
  /// Has the source wake the buffer.
  ///
  /// @param op    that is about to use the bytes.
  /// @param used  all buffers that the op uses.
  /// @throws InvalidArgument  it has no source. @throws  what the source throws.
  void provide(const char* op, std::span<const Buffer* const> used);

 private:
  [[noreturn]] void refuse(const char* op) const;

  Buffer& buffer_;
  std::shared_ptr<const std::string> unit_;  // that it was dropped with; null: it was not
  std::shared_ptr<BufferSource> source_;     // null: none
};

}  // namespace tandem
