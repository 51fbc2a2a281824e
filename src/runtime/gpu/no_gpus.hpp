// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/gpu/gpu_backend.hpp"

namespace tandem {

/// The backend of a process that knows no GPUs: there are none, and nothing is pinned for them.
class NoGpus final : public GpuBackend {
 public:
  bool has_gpus() const noexcept override { return false; }
  int count() const noexcept override { return 0; }
  const std::string& no_gpu_reason() const noexcept override { return reason_; }
  void check_gpu(Device name, int ordinal) const override;
  std::shared_ptr<GpuDevice> open(Device name, int ordinal) override;
  std::unique_ptr<GpuEvent> make_event() override;
  void begin_copy_between(const Stream&, const void*, const Stream&, void*, std::size_t) override;
  void copy_between(const Stream&, const void*, const Stream&, void*, std::size_t) override;
  bool peers(int, int) override { return false; }
  void check_launch(const char*) override {}
  bool adopts_memory() const noexcept override { return false; }
  bool pins_host_memory() const noexcept override { return false; }
  bool is_in_use() const noexcept override { return false; }
  bool pin(void*, std::size_t) noexcept override { return false; }
  void unpin(void*) noexcept override {}
  std::optional<std::size_t> held_by_process(int) const override { return std::nullopt; }

 private:
  std::string reason_;
};

}  // namespace tandem
