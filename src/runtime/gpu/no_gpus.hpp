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
  void check_gpu(Device name, int ordinal) const override;
  std::shared_ptr<GpuDevice> open(Device name, int ordinal) override;
  std::unique_ptr<GpuEvent> make_event() override;
  void begin_copy_between(const Stream&, const void*, const Stream&, void*, std::size_t) override;
  void copy_between(const Stream&, const void*, const Stream&, void*, std::size_t) override;
  bool peers(int, int) override { return false; }
};

}  // namespace tandem
