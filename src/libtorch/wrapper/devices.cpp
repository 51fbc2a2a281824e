// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/libtorch/devices.hpp"

#include <mutex>
#include <string>

#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/DeviceType.h>

#include "tandem/core/check.hpp"
#include "tandem/runtime/runtime.hpp"

#include "libtorch/device/backward_threads.hpp"
#include "libtorch/device/device_guard.hpp"
#include "libtorch/device/device_hooks.hpp"
#include "libtorch/device/device_memory.hpp"
#include "libtorch/device/torch_version.hpp"
#include "libtorch/graph/replica_kernels.hpp"
#include "libtorch/kernels/attention_kernel.hpp"
#include "libtorch/kernels/autocast_kernels.hpp"
#include "libtorch/kernels/composed_kernels.hpp"
#include "libtorch/kernels/frequent_kernels.hpp"
#include "libtorch/kernels/host_kernels.hpp"
#include "libtorch/kernels/sparse_kernels.hpp"
#include "libtorch/kernels/tensor_kernels.hpp"
#include "libtorch/wrapper/use_gpus.hpp"

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
    if (count <= registered_devices()) return;
    if (registered_devices() == 0) take_place();
    set_registered_devices(count);
    start_backward_threads(count);
  }

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
    register_replica_kernels(c10::DeviceType::PrivateUse1);
    register_host_kernels();
    register_sparse_kernels();
  }

  std::mutex mutex_;
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

std::vector<Device> gpus() {
  use_gpus();
  std::vector<Device> all;
  for (int i = 0; i < device_count(DeviceType::cuda); ++i)
    all.push_back({DeviceType::cuda, i});
  return all;
}

}  // namespace tandem::libtorch
