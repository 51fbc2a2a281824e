// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/gpu/caller_streams.hpp"

#include <c10/core/impl/VirtualGuardImpl.h>

#include "tandem/core/check.hpp"
#include "tandem/runtime/runtime.hpp"

#include "libtorch/gpu/gpu_call.hpp"
#include "libtorch/gpu/torch_gpu.hpp"
#include "libtorch/versions/torch_differences.hpp"

namespace tandem::libtorch {

std::vector<c10::Stream> current_gpu_streams() {
  std::vector<c10::Stream> streams;
  if (Runtime::instance().made(DeviceType::cuda).empty()) return streams;
  const c10::impl::VirtualGuardImpl guard(c10::DeviceType::CUDA);
  for (int gpu = 0; gpu < guard.deviceCount(); ++gpu)
    streams.push_back(guard.getStream(gpu_of(gpu)));
  return streams;
}

void follow_caller_streams(const std::vector<Device>& devices) {
  for (const Device device : devices) {
    const auto* const gpu = dynamic_cast<const TorchGpu*>(logical_device(device).gpu());
    if (gpu == nullptr) continue;
    gpu->follow_caller();
    TANDEM_CHECK(!is_current_stream_captured(gpu_of(gpu->ordinal())),
                 "DataParallel: a CUDA graph is being captured on ",
                 device,
                 ", but a call waits for other threads; call outside of the capture");
  }
}

}  // namespace tandem::libtorch
