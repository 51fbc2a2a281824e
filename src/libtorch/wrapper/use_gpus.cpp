// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/wrapper/use_gpus.hpp"

#include "tandem/core/check.hpp"
#include "tandem/libtorch/detail/torch_device.hpp"

#include "libtorch/gpu/torch_gpus.hpp"
#include "libtorch/graph/replica_kernels.hpp"

namespace tandem::libtorch {

void use_gpus() {
  TANDEM_CHECK(registered_devices() == 0,
               "DataParallel: GPUs are asked for in a process that has virtual devices, which "
               "PyTorch's engine takes for its only accelerator; use GPUs in a process of its own");
  register_torch_gpus();
  static const bool kOnce = (register_replica_kernels(c10::DeviceType::CUDA), true);
  static_cast<void>(kOnce);
}

}  // namespace tandem::libtorch
