// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include <c10/core/Stream.h>

#include "runtime/gpu/gpu_stream.hpp"

namespace tandem::libtorch {

/// A stream of PyTorch's: one of its pool, or the calling thread's current one.
class TorchStream final : public GpuStream {
 public:
  /// @param fixed  none: whatever stream is the calling thread's current one of the GPU.
  TorchStream(int ordinal, std::optional<c10::Stream> fixed) : ordinal_(ordinal), fixed_(fixed) {}

  /// The stream that work goes to now.
  c10::Stream stream() const;
  void synchronize(const char* op) const override;
  void drain() const noexcept override;
  void copy_to_host(const void* source,
                    void* target,
                    std::size_t nbytes,
                    const char* op) const override;
  bool begin_copy_from_host(const void* source,
                            void* target,
                            std::size_t nbytes,
                            const char* op) const override;
  std::shared_ptr<const StreamPoint> point() const override;

 private:
  int ordinal_;
  std::optional<c10::Stream> fixed_;
};

/// The stream of PyTorch behind a stream of a GPU.
c10::Stream torch_stream(const GpuStream& stream);

}  // namespace tandem::libtorch
