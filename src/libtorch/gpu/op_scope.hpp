// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/GradMode.h>
#include <c10/core/StreamGuard.h>

#include "tandem/runtime/logical_device.hpp"

#include "libtorch/gpu/gpu_call.hpp"
#include "libtorch/gpu/own_call.hpp"
#include "libtorch/gpu/torch_stream.hpp"
#include "runtime/gpu/gpu_device.hpp"

namespace tandem::libtorch {

/// In this scope PyTorch's ops go to a stream of a GPU, and are recorded on no graph.
class OpScope {
 public:
  explicit OpScope(const Stream& stream) : stream_(torch_stream(*stream.native())) {}

 private:
  OwnCall own_;
  c10::StreamGuard stream_;
  c10::AutoGradMode grad_{false};
};

/// f(ordinal), whose ops of PyTorch go to the stream. @param call  named where they fail.
template <class F>
void run_ops(const Stream& stream, const char* call, F&& f) {
  const int ordinal = stream.logical_device().gpu()->ordinal();
  call_gpu(ordinal, call, [&] {
    const OpScope scope(stream);
    f(ordinal);
  });
}

}  // namespace tandem::libtorch
