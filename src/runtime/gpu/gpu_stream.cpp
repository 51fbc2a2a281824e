// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/gpu/gpu_stream.hpp"

namespace tandem {

void GpuStream::copy_from_host(const void* source,
                               void* target,
                               std::size_t nbytes,
                               const char* op) const {
  const bool is_read_later = begin_copy_from_host(source, target, nbytes, op);
  try {
    if (is_read_later) synchronize(op);
  } catch (...) {
    drain();
    throw;
  }
}

}  // namespace tandem
