// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdlib>
#include <vector>

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "tandem/runtime/device.hpp"

#include "libtorch/gpu/torch_gpus.hpp"

namespace tandem::libtorch::test {

inline Device gpu(int index) {
  return {DeviceType::cuda, index};
}

/// PyTorch's library for CUDA, and the kernels of the stand-in where there is one, as Python loads
/// them.
inline bool load_cuda() {
  const char* const ops = std::getenv("TANDEM_STAND_IN_OPS");
  return ::dlopen(TANDEM_TORCH_CUDA, RTLD_NOW | RTLD_GLOBAL) != nullptr &&
         (ops == nullptr || ::dlopen(ops, RTLD_NOW | RTLD_GLOBAL) != nullptr);
}

/// PyTorch's GPUs as devices of tandem, at most four: those of the machine, or of the stand-in for
/// PyTorch's CUDA, which ends the process with a status if a wait is missing
/// (TANDEM_STAND_IN_STRICT).
class GpusTest : public ::testing::Test {
 protected:
  void SetUp() override {
    static const bool is_loaded = load_cuda();
    ASSERT_TRUE(is_loaded) << ::dlerror();
    if (TorchGpus().count() < 2) GTEST_SKIP() << "PyTorch sees fewer than 2 GPUs";
    register_torch_gpus();
    gpus_ = std::min(TorchGpus().count(), 4);
  }
  std::vector<Device> devices() const {
    std::vector<Device> all;
    for (int r = 0; r < gpus_; ++r)
      all.push_back(gpu(r));
    return all;
  }

  int gpus_ = 0;
};

}  // namespace tandem::libtorch::test
