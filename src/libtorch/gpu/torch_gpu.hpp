// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <optional>

#include "tandem/runtime/worker.hpp"

#include "libtorch/gpu/torch_stream.hpp"
#include "runtime/gpu/gpu_device.hpp"

namespace tandem::libtorch {

/// A logical device on a GPU of PyTorch's. Its main stream is the one that was the caller's current
/// one there when the last call began, or one of its own where another device follows that one.
class TorchGpu final : public GpuDevice {
 public:
  TorchGpu(Device name, int ordinal);
  void activate() const override;
  GpuStream* main_stream() const noexcept override { return &main_; }
  GpuStream* side_stream() const noexcept override { return &side_; }
  GpuStream* upload_stream() const noexcept override { return &upload_; }
  std::unique_ptr<SourceAllocator> make_allocator() override;
  std::optional<Reserved> reserved() const override;
  void begin_peak() const override;
  /// Whether no fork lies between its making and now, after which CUDA refuses its work.
  bool is_of_this_process() const noexcept { return forks_ == fork_count(); }
  /// A call begins, for which a stream of the GPU, the caller's, becomes the main one.
  /// @throws InvalidArgument  another call is under way, with another stream.
  void begin_call(const c10::Stream& caller) const;
  /// The same with the device's own stream. Whoever calls orders it with the one before.
  void begin_call() const;
  /// A call has ended that had begun.
  void end_call() const noexcept;

 private:
  const unsigned forks_ = fork_count();
  mutable TorchStream main_, side_, upload_;
  mutable std::once_flag has_own_;
  mutable std::optional<c10::Stream> own_;  // once it has been asked for
  mutable std::mutex calls_mutex_;          // guards calls_, and the main stream
  mutable int calls_ = 0;                   // under way
};

}  // namespace tandem::libtorch
