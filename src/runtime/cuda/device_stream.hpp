// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/gpu/gpu_stream.hpp"

namespace tandem::cuda {

/// A stream of CUDA, which it owns.
class DeviceStream final : public GpuStream {
 public:
  /// Makes a stream of the calling thread's GPU, which is `gpu`.
  ///
  /// @param priority        lower numbers go first; 0 is the usual one.
  /// @param reads_pageable  the GPU reads memory of the host itself that is not pinned, when its
  ///                        stream comes to it.
  DeviceStream(int gpu, int priority, bool reads_pageable);
  ~DeviceStream() override;

  void synchronize(const char* op) const override;
  void drain() const noexcept override;
  void copy_to_host(std::span<const ToHost> copies, const char* op) const override;
  bool begin_copy_from_host(const void* source,
                            void* target,
                            std::size_t nbytes,
                            const char* op) const override;
  std::shared_ptr<const StreamPoint> point() const override;

 private:
  int gpu_;
  bool reads_pageable_;
};

}  // namespace tandem::cuda
