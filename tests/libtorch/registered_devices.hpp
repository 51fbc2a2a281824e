// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tandem/libtorch/devices.hpp"
#include "tandem/runtime/runtime.hpp"

// The virtual devices of the tests, as devices of PyTorch.
namespace tandem::libtorch::test {

inline torch::Device device(int index) {
  return torch_device({DeviceType::cpu, index});
}

inline std::size_t in_use(int index) {
  return logical_device({DeviceType::cpu, index}).memory_stats().in_use;
}

/// The largest difference of two tensors, wherever they are.
inline double gap(const torch::Tensor& a, const torch::Tensor& b) {
  return (a.cpu() - b.cpu()).abs().max().item<double>();
}

class RegisteredDevicesTest : public ::testing::Test {
 protected:
  RegisteredDevicesTest() {
    register_devices(8);  // as a wrapper does
    torch::manual_seed(1);
  }
};

}  // namespace tandem::libtorch::test
