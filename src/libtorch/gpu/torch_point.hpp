// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/Event.h>

#include "libtorch/gpu/torch_stream.hpp"
#include "runtime/gpu/stream_times.hpp"

namespace tandem::libtorch {

/// A point by an event of PyTorch's with a time.
class TorchPoint final : public StreamPoint {
 public:
  TorchPoint(const TorchStream& stream, int ordinal);
  void wait(const char* op) const override;
  float since(const StreamPoint& earlier) const override;

 private:
  c10::Event event_;
};

}  // namespace tandem::libtorch
