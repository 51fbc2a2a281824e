// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/gpu/torch_point.hpp"

#include "libtorch/gpu/gpu_call.hpp"
#include "runtime/gpu/poll.hpp"

namespace tandem::libtorch {

TorchPoint::TorchPoint(const TorchStream& stream, int ordinal)
    : StreamPoint(ordinal), event_(c10::DeviceType::CUDA, c10::EventFlag::BACKEND_DEFAULT) {
  call_gpu(ordinal, "cudaEventRecord", [&] { event_.record(stream.stream()); });
}

void TorchPoint::wait(const char* op) const {
  poll([&] { return call_gpu(ordinal(), "cudaEventQuery", [&] { return event_.query(); }); }, op);
}

float TorchPoint::since(const StreamPoint& earlier) const {
  const auto& from = dynamic_cast<const TorchPoint&>(earlier);
  return call_gpu(ordinal(), "cudaEventElapsedTime", [&] {
    return static_cast<float>(from.event_.elapsedTime(event_));
  });
}

}  // namespace tandem::libtorch
