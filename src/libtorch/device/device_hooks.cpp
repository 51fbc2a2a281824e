// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/device/device_hooks.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/DeviceGuard.h>

#include "tandem/libtorch/detail/torch_device.hpp"

#include "libtorch/device/device_memory.hpp"

namespace tandem::libtorch {
namespace {

using c10::DeviceIndex;

std::vector<at::Generator>& generators() {
  static auto& all = *[] {
    auto* const made = new std::vector<at::Generator>;
    for (int i = 0; i < kMaxTorchDevices; ++i)
      made->push_back(at::make_generator<at::CPUGeneratorImpl>());
    return made;
  }();
  return all;
}

class Hooks final : public at::PrivateUse1HooksInterface {
 public:
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(DeviceIndex) const override { return true; }
  void init() const override {}
  DeviceIndex deviceCount() const override {
    return static_cast<DeviceIndex>(registered_devices());
  }
  void setCurrentDevice(DeviceIndex device) const override { current_device() = device; }
  DeviceIndex getCurrentDevice() const override {
    return static_cast<DeviceIndex>(current_device());
  }
  DeviceIndex exchangeDevice(DeviceIndex device) const override {
    const DeviceIndex before = getCurrentDevice();
    current_device() = device;
    return before;
  }
  DeviceIndex maybeExchangeDevice(DeviceIndex device) const override {
    return device < 0 ? getCurrentDevice() : exchangeDevice(device);
  }
  const at::Generator& getDefaultGenerator(DeviceIndex device) const override {
    return generator_of(device < 0 ? current_device() : device);
  }
  at::Generator getNewGenerator(DeviceIndex) const override {
    return at::make_generator<at::CPUGeneratorImpl>();
  }
  at::Allocator* getPinnedMemoryAllocator() const override { return &host_allocator(); }
  void resizePrivateUse1Bytes(const c10::Storage& storage, std::size_t nbytes) const override {
    const c10::DeviceGuard guard(storage.device());
    c10::DataPtr data = device_allocator().allocate(nbytes);
    if (storage.data() != nullptr && data.get() != nullptr)
      std::memcpy(data.get(), storage.data(), std::min(nbytes, storage.nbytes()));
    storage.set_data_ptr_noswap(std::move(data));
    storage.set_nbytes(nbytes);
  }
};

}  // namespace

at::Generator& generator_of(int device) {
  return generators()[static_cast<std::size_t>(device)];
}

void register_device_hooks() {
  // torch::manual_seed may have been called before there were devices.
  const std::uint64_t seed = at::detail::getDefaultCPUGenerator().current_seed();
  for (at::Generator& generator : generators())
    generator.set_current_seed(seed);
  at::RegisterPrivateUse1HooksInterface(new Hooks);
}

}  // namespace tandem::libtorch
