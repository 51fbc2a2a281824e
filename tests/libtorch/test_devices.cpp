// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/test_devices.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <set>
#include <string_view>

#include <gtest/gtest.h>

#include "tandem/libtorch/devices.hpp"

#include "gpu/gpus.hpp"

namespace tandem::libtorch::test {
namespace {

constexpr int kMostDevices = 8;  // that a suite asks for

bool are_gpus() {
  static const bool are = [] {
    const char* const kind = std::getenv("TANDEM_TEST_DEVICE");
    return kind != nullptr && std::string_view(kind) == "cuda";
  }();
  return are;
}

/// PyTorch's GPUs, before the first test.
class Gpus final : public ::testing::Environment {
 public:
  void SetUp() override {
    if (!are_gpus()) return;
    ASSERT_TRUE(load_cuda()) << ::dlerror();
    ASSERT_GE(gpus().size(), static_cast<std::size_t>(kMostDevices))
        << "the suites need more GPUs: set TANDEM_STAND_IN_GPUS";
  }
};

const ::testing::Environment* const kGpus = ::testing::AddGlobalTestEnvironment(new Gpus);

bool is_on_host(const torch::nn::Module& module) {
  const auto is_there = [](const at::Tensor& x) { return x.is_cpu(); };
  return std::ranges::all_of(module.parameters(), is_there) &&
         std::ranges::all_of(module.buffers(), is_there);
}

}  // namespace

void register_test_devices() {
  if (!are_gpus()) register_devices(kMostDevices);  // as a wrapper does
}

Device test_device(int index) {
  return {are_gpus() ? DeviceType::cuda : DeviceType::cpu, index};
}

std::vector<Device> test_devices(int count) {
  std::vector<Device> all;
  for (int i = 0; i < count; ++i)
    all.push_back(test_device(i));
  return all;
}

c10::DeviceType torch_type() {
  return are_gpus() ? c10::DeviceType::CUDA : c10::DeviceType::PrivateUse1;
}

bool move_to_gpu(const std::shared_ptr<torch::nn::Module>& module,
                 const parallel::DataParallelOptions& options) {
  static std::set<std::weak_ptr<torch::nn::Module>, std::owner_less<>> moved;
  if (!are_gpus() || module == nullptr) return false;
  if (is_on_host(*module)) {
    moved.insert(module);
    module->to(torch_device(options.devices.front()));
  }
  return !options.output_device && moved.contains(module);
}

}  // namespace tandem::libtorch::test
