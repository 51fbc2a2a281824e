// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/gpu/gpu_backend.hpp"

namespace tandem::cuda {

/// tandem's own backend. This header includes none of CUDA's; the definitions exist only in builds
/// with CUDA.
class CudaBackend final : public GpuBackend {
 public:
  bool has_gpus() const noexcept override { return true; }
  int count() const noexcept override;
  const std::string& no_gpu_reason() const noexcept override;
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
  /// Asks the driver and then tries it with data, once per pair. With TANDEM_NO_CUDA_PEERS=1 in the
  /// environment no GPUs are peers.
  bool peers(int ordinal, int other) override;
  void check_launch(const char* name) override;
  std::shared_ptr<void> make_current(int ordinal) noexcept override;
  void check_context(int ordinal, const char* call) override;
  void release_unused(int ordinal) override;
  bool are_broken_peers(int ordinal, int other) override;
  bool pins_host_memory() const noexcept override { return true; }
  bool is_in_use() const noexcept override;
  bool pin(void* p, std::size_t nbytes) noexcept override;
  void unpin(void* p) noexcept override;
  std::optional<std::size_t> held_by_process(int ordinal) const override;
};

}  // namespace tandem::cuda
