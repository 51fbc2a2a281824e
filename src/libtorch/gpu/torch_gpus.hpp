// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/gpu/gpu_backend.hpp"

namespace tandem::libtorch {

/// The GPUs of PyTorch as devices of tandem: their memory, streams and events are PyTorch's, which
/// is reached through c10 alone, so that nothing of CUDA's is linked.
class TorchGpus final : public GpuBackend {
 public:
  bool has_gpus() const noexcept override { return true; }
  int count() const noexcept override;
  void check_gpu(Device name, int ordinal) const override;
  std::shared_ptr<GpuDevice> open(Device name, int ordinal) override;
  std::unique_ptr<GpuEvent> make_event() override;
  void begin_copy_between(const Stream& source_stream,
                          const void* source,
                          const Stream& target_stream,
                          void* target,
                          std::size_t nbytes) override;
  void copy_between(const Stream& source_stream,
                    const void* source,
                    const Stream& target_stream,
                    void* target,
                    std::size_t nbytes) override;
  /// PyTorch's kernels take tensors of one GPU.
  bool peers(int ordinal, int other) override { return ordinal == other; }
  bool adopts_memory() const noexcept override { return true; }
  std::shared_ptr<void> make_current(int ordinal) noexcept override;
  void check_context(int ordinal, const char* call) override;
  void release_unused(int ordinal) override;
  bool are_broken_peers(int ordinal, int other) override;
};

/// Makes PyTorch's GPUs tandem's devices of type cuda. A second call does nothing. Thread-safe.
///
/// @throws InvalidArgument  PyTorch has no CUDA, or sees no GPU; or tandem's own are in use.
void register_torch_gpus();

}  // namespace tandem::libtorch
