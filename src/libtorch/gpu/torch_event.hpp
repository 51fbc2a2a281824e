// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include <c10/core/Event.h>

#include "runtime/gpu/gpu_event.hpp"

namespace tandem::libtorch {

/// An event of PyTorch's.
class TorchEvent final : public GpuEvent {
 public:
  void record(const Stream& stream) override;
  bool is_done() const override;
  void wait(const char* op) const override;
  void wait(const Stream& stream) const override;

 private:
  std::optional<c10::Event> event_;
  int ordinal_ = -1;
};

}  // namespace tandem::libtorch
