// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tandem {

class GpuStream;

/// In this scope the calling thread takes memory of a GPU in the order of `take`, which is given
/// back in the order of `give`; outside of one both are the device's main stream. Scopes do not
/// nest.
///
/// Who uses the memory on another stream orders that stream's work after the taking and before the
/// giving back.
class MemoryOrder {
 public:
  /// Streams of one device.
  MemoryOrder(GpuStream* take, GpuStream* give) noexcept : take_(take), give_(give) {
    in_place_ = this;
  }
  ~MemoryOrder() { in_place_ = nullptr; }
  MemoryOrder(const MemoryOrder&) = delete;
  MemoryOrder& operator=(const MemoryOrder&) = delete;

  GpuStream* take() const noexcept { return take_; }
  GpuStream* give() const noexcept { return give_; }
  /// The calling thread's; null outside of a scope.
  static const MemoryOrder* in_place() noexcept { return in_place_; }

 private:
  static inline thread_local const MemoryOrder* in_place_ = nullptr;

  GpuStream* take_;
  GpuStream* give_;
};

}  // namespace tandem
