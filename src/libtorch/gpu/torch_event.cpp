// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/gpu/torch_event.hpp"

#include "tandem/runtime/logical_device.hpp"

#include "libtorch/gpu/gpu_call.hpp"
#include "libtorch/gpu/torch_stream.hpp"
#include "runtime/gpu/gpu_device.hpp"
#include "runtime/gpu/poll.hpp"

namespace tandem::libtorch {

void TorchEvent::record(const Stream& stream) {
  const int ordinal = stream.logical_device().gpu()->ordinal();
  call_gpu(ordinal, "cudaEventRecord", [&] {
    if (ordinal != ordinal_) event_.emplace(c10::DeviceType::CUDA);  // an event is of one GPU
    ordinal_ = ordinal;
    event_->record(torch_stream(*stream.native()));
  });
}

bool TorchEvent::is_done() const {
  return call_gpu(ordinal_, "cudaEventQuery", [&] { return event_->query(); });
}

void TorchEvent::wait(const char* op) const {
  poll([&] { return is_done(); }, op);
}

void TorchEvent::wait(const Stream& stream) const {
  call_gpu(stream.logical_device().gpu()->ordinal(), "cudaStreamWaitEvent", [&] {
    event_->block(torch_stream(*stream.native()));
  });
}

}  // namespace tandem::libtorch
