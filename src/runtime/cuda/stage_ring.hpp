// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <mutex>

#include "tandem/runtime/event.hpp"
#include "tandem/runtime/stream.hpp"

namespace tandem::cuda {

/// Pinned memory of the host, through which copies leave a GPU for one that does not reach it.
///
/// A copy goes in pieces: while one GPU reads a piece, the other writes the next one. Everything is
/// queued, and events keep it in order. Thread-safe. Lives until the process ends.
class StageRing {
 public:
  /// The ring of copies from a GPU.
  static StageRing& of(int gpu);

  /// Copies after the work of both streams so far; both continue after their part in it.
  ///
  /// @throws DeviceError  some of the copy may have been queued.
  void copy(const Stream& source_stream,
            const void* source,
            const Stream& target_stream,
            void* target,
            std::size_t nbytes);

 private:
  struct Slot {
    Event filled, emptied;
    bool is_used = false;
  };
  void copy_piece(const Stream& source_stream,
                  const void* source,
                  const Stream& target_stream,
                  void* target,
                  std::size_t nbytes);

  std::mutex mutex_;  // guards what follows; held while a copy is queued
  char* memory_ = nullptr;
  std::array<Slot, 4> slots_;
  std::size_t next_ = 0;
};

}  // namespace tandem::cuda
