// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/device/device_guard.hpp"

#include <c10/core/impl/DeviceGuardImplInterface.h>

#include "tandem/libtorch/detail/torch_device.hpp"

#include "libtorch/device/device_memory.hpp"

namespace tandem::libtorch {
namespace {

using c10::DeviceIndex;

class Guard final : public c10::impl::DeviceGuardImplInterface {
 public:
  c10::DeviceType type() const override { return c10::DeviceType::PrivateUse1; }
  c10::Device exchangeDevice(c10::Device device) const override {
    const c10::Device before = getDevice();
    setDevice(device);
    return before;
  }
  c10::Device getDevice() const override {
    return {type(), static_cast<DeviceIndex>(current_device())};
  }
  void setDevice(c10::Device device) const override {
    TORCH_CHECK(device.index() < registered_devices(),
                "tandem: there is no ",
                device,
                "; ",
                registered_devices(),
                " devices are registered");
    uncheckedSetDevice(device);
  }
  void uncheckedSetDevice(c10::Device device) const noexcept override {
    if (device.index() >= 0) current_device() = device.index();
  }
  DeviceIndex deviceCount() const noexcept override {
    return static_cast<DeviceIndex>(registered_devices());
  }

  c10::Stream getStream(c10::Device device) const override { return stream_of(device); }
  c10::Stream getDefaultStream(c10::Device device) const override { return stream_of(device); }
  c10::Stream getNewStream(c10::Device device, int) const override { return stream_of(device); }
  c10::Stream getStreamFromGlobalPool(c10::Device device, bool) const override {
    return stream_of(device);
  }
  c10::Stream exchangeStream(c10::Stream stream) const override {
    return stream_of(stream.device());
  }
  bool queryStream(const c10::Stream&) const override { return true; }
  void synchronizeStream(const c10::Stream&) const override {}
  void synchronizeDevice(DeviceIndex) const override {}

  void record(void** event, const c10::Stream&, DeviceIndex, c10::EventFlag) const override {
    *event = const_cast<Guard*>(this);  // any address: null would be an event never recorded
  }
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void*) const override { return true; }
  void synchronizeEvent(void*) const override {}

 private:
  static c10::Stream stream_of(c10::Device device) {
    return c10::Stream(c10::Stream::DEFAULT, device);
  }
};

}  // namespace

void register_device_guard() {
  static const c10::impl::DeviceGuardImplRegistrar registrar(c10::DeviceType::PrivateUse1,
                                                             new Guard);
}

}  // namespace tandem::libtorch
