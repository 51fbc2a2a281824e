// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include <ATen/core/Tensor.h>
#include <c10/core/Stream.h>

#include "runtime/gpu/gpu_stream.hpp"

namespace tandem::libtorch {

/// A stream of PyTorch's.
class TorchStream final : public GpuStream {
 public:
  TorchStream(int ordinal, c10::Stream stream);

  /// The stream that work goes to now.
  c10::Stream stream() const noexcept;
  /// Work goes to another stream of the GPU from now on. Whoever chose it has ordered the two.
  void follow(c10::Stream stream) noexcept { id_.store(stream.id(), std::memory_order_release); }
  CUstream_st* handle() const override;
  void synchronize(const char* op) const override;
  void drain() const noexcept override;
  void copy_to_host(std::span<const ToHost> copies, const char* op) const override;
  bool begin_copy_from_host(const void* source,
                            void* target,
                            std::size_t nbytes,
                            const char* op) const override;
  std::shared_ptr<const StreamPoint> point() const override;

 private:
  void await(const c10::Stream& own, const char* op) const;
  enum class Target : std::uint8_t { pageable, pinned };
  void queue(const c10::Stream& own, const ToHost& copy, Target target, const char* op) const;

  int ordinal_;
  std::atomic<c10::StreamId> id_;
  mutable std::mutex staging_;  // held while staged_ is in use
  at::Tensor staged_;           // pinned memory, where a few bytes arrive
};

/// The stream of PyTorch behind a stream of a GPU.
c10::Stream torch_stream(const GpuStream& stream);

}  // namespace tandem::libtorch
