// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "tandem/runtime/stream.hpp"

namespace tandem::cuda {

/// See GpuBackend.
void begin_copy_between(const Stream& source_stream,
                        const void* source,
                        const Stream& target_stream,
                        void* target,
                        std::size_t nbytes);
/// See GpuBackend.
void copy_between(const Stream& source_stream,
                  const void* source,
                  const Stream& target_stream,
                  void* target,
                  std::size_t nbytes);

}  // namespace tandem::cuda
