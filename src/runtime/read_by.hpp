// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "tandem/runtime/buffer.hpp"
#include "tandem/runtime/stream.hpp"

namespace tandem {

/// What `read` of dispatch.hpp does, by another stream of the buffer's device, which the caller has
/// ordered behind what writes there.
void read_by(const Stream& stream,
             const Buffer& source,
             std::size_t offset,
             void* target,
             std::size_t nbytes,
             const char* op);

}  // namespace tandem
