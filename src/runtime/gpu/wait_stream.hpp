// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/runtime/event.hpp"
#include "tandem/runtime/stream.hpp"

namespace tandem {

/// Work that `stream` gets from now on waits for what `other` has been given so far. One does not
/// wait for itself.
///
/// @throws DeviceError, Timeout, CommAborted  as Event::wait.
inline void wait_stream(const Stream& stream, const Stream& other, const char* op) {
  if (&stream == &other) return;
  Event so_far;
  so_far.record(other);
  so_far.wait(stream, op);
}

}  // namespace tandem
