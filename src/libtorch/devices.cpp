// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/libtorch/devices.hpp"

#include <atomic>
#include <mutex>
#include <string>

#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/Device.h>
#include <c10/core/DeviceType.h>

#include "tandem/core/check.hpp"

#include "libtorch/attention_kernel.hpp"
#include "libtorch/autocast_kernels.hpp"
#include "libtorch/backward_threads.hpp"
#include "libtorch/composed_kernels.hpp"
#include "libtorch/device_guard.hpp"
#include "libtorch/device_hooks.hpp"
#include "libtorch/device_memory.hpp"
#include "libtorch/frequent_kernels.hpp"
#include "libtorch/host_kernels.hpp"
#include "libtorch/replica_kernels.hpp"
#include "libtorch/sparse_kernels.hpp"
#include "libtorch/tensor_kernels.hpp"
#include "libtorch/torch_version.hpp"

namespace tandem::libtorch {
namespace {

constexpr const char* kName = "tandem";
constexpr const char* kFree = "privateuseone";  // PyTorch's name where nobody has taken the place

void check_free() {
  const std::string other = c10::get_privateuse1_backend();
  TANDEM_CHECK(other == kFree && !at::isPrivateUse1HooksRegistered(),
               "register_devices: PyTorch has one place for foreign devices, and '",
               other,
               "' has taken it; use GPUs, or a process without the other library");
}

/// What PyTorch knows of virtual devices. Thread-safe.
class Registration {
 public:
  static Registration& get() {
    static Registration& one = *new Registration;
    return one;
  }

  void ask_for(int count) {
    const std::scoped_lock lock(mutex_);
    if (count <= count_) return;
    if (count_ == 0) take_place();
    count_ = count;
    start_backward_threads(count);
  }
  int count() const { return count_; }

 private:
  static void take_place() {
    check_torch_version();
    check_free();
    c10::SetAllocator(c10::DeviceType::PrivateUse1, &device_allocator(), 1);
    register_device_guard();
    register_device_hooks();
    c10::register_privateuse1_backend(kName);
    take_host_allocator();
    register_tensor_kernels();
    register_attention_kernel();
    register_composed_kernels();
    register_frequent_kernels();
    register_autocast_kernels();
    register_replica_kernels();
    register_host_kernels();
    register_sparse_kernels();
  }

  std::mutex mutex_;
  std::atomic<int> count_ = 0;
};

}  // namespace

void register_devices(int count) {
  TANDEM_CHECK(count >= 1 && count <= kMaxTorchDevices,
               "register_devices: ",
               count,
               " devices; expected 1 to ",
               kMaxTorchDevices);
  Registration::get().ask_for(count);
}

int registered_devices() {
  return Registration::get().count();
}

c10::Device torch_device(Device device) {
  const int count = registered_devices();
  TANDEM_CHECK(device.type == DeviceType::cpu && device.index < count,
               "torch_device: ",
               device,
               " is not registered; ",
               count,
               " virtual devices are: call register_devices");
  return {c10::DeviceType::PrivateUse1, static_cast<c10::DeviceIndex>(device.index)};
}

Device tandem_device(c10::Device device) {
  TANDEM_CHECK(device.type() == c10::DeviceType::PrivateUse1 && device.has_index(),
               "tandem_device: ",
               device.str(),
               " is no virtual device; give one with its index, such as tandem:0");
  return {DeviceType::cpu, device.index()};
}

}  // namespace tandem::libtorch
