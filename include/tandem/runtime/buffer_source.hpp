// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

namespace tandem {

class Buffer;

/// Knows the bytes of buffers that have given their memory back.
class BufferSource {
 public:
  virtual ~BufferSource() = default;
  /// Wakes `buffer`, with its bytes. Called on the thread of the work that is about to use it.
  ///
  /// @param used  all buffers of that work: those of them that are awake stay so.
  /// @throws OutOfMemory  it stays dropped.
  virtual void provide(Buffer& buffer, std::span<const Buffer* const> used) = 0;
};

}  // namespace tandem
