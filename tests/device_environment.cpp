// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <climits>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

#include <gtest/gtest.h>

#include "tandem/config.hpp"
#include "tandem/runtime/runtime.hpp"

#include "devices.hpp"

namespace tandem::testing {
namespace {

int limit = INT_MAX;

/// Skips all tests of a run for GPUs where there is none, else makes cuda:0 the default device.
class DeviceEnvironment final : public ::testing::Environment {
 public:
  void SetUp() override {
    if (device_type() == DeviceType::cpu) return;
    if (device_count(DeviceType::cuda) == 0)
      GTEST_SKIP() << (has_cuda ? "there is no GPU" : "there is no GPU: built without CUDA");
    if (backend() == comm::Backend::nccl && !has_nccl) GTEST_SKIP() << "there is no NCCL";
    const char* const list = std::getenv("TANDEM_TEST_DEVICES");
    if (list != nullptr || backend() == comm::Backend::local)
      configure_devices(list != nullptr ? list : "cuda:0x8");
    set_default_device(device(0));
    limit = device_count(DeviceType::cuda);
  }
};

const auto* const kEnvironment = ::testing::AddGlobalTestEnvironment(new DeviceEnvironment);

void skip(int index) {
  GTEST_SKIP() << "needs " << index + 1 << " devices, TANDEM_TEST_DEVICES has " << limit;
}

}  // namespace

int device_limit() {
  return limit;
}

Device device(int index) {
  if (index >= limit) {
    skip(index);
    // GoogleTest takes it for the end of a test whose result is known.
    throw ::testing::AssertionException(
        {::testing::TestPartResult::kSkip, __FILE__, __LINE__, "too few devices"});
  }
  return {device_type(), index};
}

comm::Backend backend() {
  const char* const name = std::getenv("TANDEM_TEST_BACKEND");
  return name == nullptr ? comm::Backend::local : comm::parse_backend(name).value();
}

DeviceType device_type() {
  const char* const name = std::getenv("TANDEM_TEST_DEVICE");
  if (name == nullptr || std::string_view(name) == "cpu") return DeviceType::cpu;
  if (std::string_view(name) == "cuda") return DeviceType::cuda;
  throw std::runtime_error("TANDEM_TEST_DEVICE is neither cpu nor cuda");
}

}  // namespace tandem::testing
