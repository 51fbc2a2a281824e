// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/gpu/gpu_event.hpp"

struct CUevent_st;

namespace tandem::cuda {

/// An event of CUDA, made when it is first recorded, and again for another GPU.
class CudaEvent final : public GpuEvent {
 public:
  ~CudaEvent() override { destroy(); }
  void record(const Stream& stream) override;
  bool is_done() const override;
  void wait(const char* op) const override;
  void wait(const Stream& stream) const override;

 private:
  void destroy() noexcept;

  CUevent_st* handle_ = nullptr;
  int gpu_ = -1;
};

}  // namespace tandem::cuda
