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
  const std::string& no_gpu_reason() const noexcept override { return no_reason_; }
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
  void check_launch(const char*) override {}  // PyTorch does so at each of its launches
  bool adopts_memory() const noexcept override { return true; }
  bool pins_host_memory() const noexcept override { return false; }
  bool is_in_use() const noexcept override { return false; }
  bool pin(void*, std::size_t) noexcept override { return false; }
  void unpin(void*) noexcept override {}
  std::optional<std::size_t> held_by_process(int) const override { return std::nullopt; }

 private:
  std::string no_reason_;
};

/// Makes PyTorch's GPUs tandem's devices of type cuda. A second call does nothing. Thread-safe.
///
/// @throws InvalidArgument  PyTorch has no CUDA, or sees no GPU; or tandem's own are in use.
void register_torch_gpus();

}  // namespace tandem::libtorch
