// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/device/call_generators.hpp"

#include <mutex>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/ops/equal.h>

#include "tandem/core/check.hpp"
#include "tandem/libtorch/detail/torch_device.hpp"
#include "tandem/runtime/logical_device.hpp"

#include "core/splitmix64.hpp"
#include "libtorch/device/device_hooks.hpp"
#include "runtime/gpu/devices_of_gpu.hpp"

namespace tandem::libtorch {
namespace {

/// PyTorch's default generator of a device.
at::Generator generator_for(Device device) {
  if (device.type == DeviceType::cpu) return generator_of(device.index);
  return at::globalContext().defaultGenerator(torch_device(device));
}

std::uint64_t draw(Device device) {
  at::Generator generator = generator_for(device);
  const std::scoped_lock lock(generator.mutex());
  if (device.type == DeviceType::cuda) {  // a place in a stream of numbers, which is the host's
    constexpr std::uint64_t kStep = 4;    // what one draw of a GPU's thread takes
    const std::uint64_t offset = generator.get_offset();
    generator.set_offset(offset + kStep);
    return splitmix64(generator.current_seed(), offset);
  }
  return at::check_generator<at::CPUGeneratorImpl>(generator)->random64();
}

void set_seed(Device device, std::uint64_t value) {
  at::Generator generator = generator_for(device);
  const std::scoped_lock lock(generator.mutex());
  generator.set_current_seed(value);
}

}  // namespace

at::Tensor state_of(at::Generator generator) {
  const std::scoped_lock lock(generator.mutex());
  return generator.get_state();
}

void set_state(at::Generator generator, const at::Tensor& state) {
  const std::scoped_lock lock(generator.mutex());
  generator.set_state(state);
}

CallGenerators::CallGenerators(const std::vector<Device>& devices)
    : devices_(devices), host_(state_of(at::detail::getDefaultCPUGenerator())) {
  for (const Device device : devices_)
    before_.push_back(state_of(generator_for(device)));
  seed_ = draw(devices_.front());
  next_ = state_of(generator_for(devices_.front()));
  for (std::size_t d = 0; d < devices_.size(); ++d)
    set_seed(devices_[d], splitmix64(seed_, d));
}

CallGenerators::~CallGenerators() {
  // The first device comes last: others on its GPU have the same generator.
  for (std::size_t d = devices_.size(); d-- > 0;)
    set_state(generator_for(devices_[d]), keeps_ && d == 0 ? next_ : before_[d]);
  if (!keeps_) set_state(at::detail::getDefaultCPUGenerator(), host_);
}

void check_draws(Device device) {
  const GpuDevice* const gpu = logical_device(device).gpu();
  if (gpu == nullptr) return;
  const std::size_t here = devices_of_gpu(gpu->ordinal()).size();
  TANDEM_CHECK(here <= 1 || generator_for(device).get_offset() == 0,
               "DataParallel: a replica on ",
               device,
               " drew random numbers, but GPU ",
               gpu->ordinal(),
               " has ",
               here,
               " devices, whose draws PyTorch takes from one generator in the order of time; give "
               "dropout by_row, or each device a GPU");
}

bool CallGenerators::have_drawn() const {
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    const at::Generator own = generator_for(devices_[d]);
    if (devices_[d].type == DeviceType::cuda) {
      if (own.get_offset() != 0) return true;
      continue;
    }
    const at::Generator fresh = at::detail::createCPUGenerator(splitmix64(seed_, d));
    if (!at::equal(fresh.get_state(), state_of(own))) return true;
  }
  return false;
}

}  // namespace tandem::libtorch
