// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "tandem/runtime/buffer.hpp"
#include "tandem/runtime/stream.hpp"

namespace tandem {

/// Bytes of a buffer that the host reads.
struct ReadBytes {
  const Buffer* source;
  std::size_t offset;
  void* target;
  std::size_t nbytes;
};

/// What `read` of dispatch.hpp does, by another stream of the buffer's device, which the caller has
/// ordered behind what writes there.
///
/// @param reads  of one device, for all of which it waits once.
void read_by(const Stream& stream, std::span<const ReadBytes> reads, const char* op);

}  // namespace tandem
