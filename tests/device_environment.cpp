// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <cstdlib>
#include <stdexcept>
#include <string_view>

#include <gtest/gtest.h>

#include "tandem/config.hpp"
#include "tandem/runtime/runtime.hpp"

#include "devices.hpp"

namespace tandem::testing {
namespace {

/// Skips all tests of a run for GPUs where there is none, else makes cuda:0 the default device.
class DeviceEnvironment final : public ::testing::Environment {
 public:
  void SetUp() override {
    if (device_type() == DeviceType::cpu) return;
    if (device_count(DeviceType::cuda) == 0) {
      GTEST_SKIP() << (has_cuda ? "there is no GPU" : "there is no GPU: built without CUDA");
    }
    const char* const list = std::getenv("TANDEM_TEST_DEVICES");
    configure_devices(list != nullptr ? list : "cuda:0x8");
    set_default_device(device(0));
  }
};

const auto* const kEnvironment = ::testing::AddGlobalTestEnvironment(new DeviceEnvironment);

}  // namespace

DeviceType device_type() {
  const char* const name = std::getenv("TANDEM_TEST_DEVICE");
  if (name == nullptr || std::string_view(name) == "cpu") return DeviceType::cpu;
  if (std::string_view(name) == "cuda") return DeviceType::cuda;
  throw std::runtime_error("TANDEM_TEST_DEVICE is neither cpu nor cuda");
}

}  // namespace tandem::testing
