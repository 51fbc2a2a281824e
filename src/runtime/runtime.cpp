// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/runtime/runtime.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <thread>

#include <sched.h>

#include "tandem/core/check.hpp"

#include "runtime/asked_capability.hpp"
#include "runtime/cpu_quota.hpp"
#include "runtime/gpu/gpu_backend.hpp"

namespace tandem {
namespace {

constexpr int kMaxThreads = 1024;

/// What TANDEM_THREADS says: 0 if it is not set, -1 if it is not a number from 1 to kMaxThreads.
int threads_asked() noexcept {
  const char* text = std::getenv("TANDEM_THREADS");
  if (text == nullptr) return 0;
  int n = 0;
  const char* stop = text + std::strlen(text);
  const auto [end, error] = std::from_chars(text, stop, n);
  return error == std::errc{} && end == stop && n > 0 && n <= kMaxThreads ? n : -1;
}

int detect_cores() noexcept {
  if (const int asked = threads_asked(); asked > 0) return asked;
  cpu_set_t set;
  CPU_ZERO(&set);
  int cores = static_cast<int>(std::thread::hardware_concurrency());
  if (sched_getaffinity(0, sizeof set, &set) == 0) cores = CPU_COUNT(&set);
  if (const auto quota = cpu_quota())
    cores = static_cast<int>(std::min<double>(cores, std::ceil(*quota)));
  return std::max(1, cores);
}

/// Says why the host's devices are the default on a machine whose GPUs cannot be used.
void tell_missing_gpus() {
  const std::string& reason = gpu_backend().no_gpu_reason();
  if (reason.empty()) return;
  std::fprintf(stderr,
               "tandem: no GPU can be used, so work runs on the host; CUDA says: %s\n",
               reason.c_str());
}

/// Devices of a list are all shape-only, or none is.
void check_data(const DeviceSpec& first, const DeviceSpec& spec) {
  TANDEM_CHECK(spec.has_data || spec.device.type == DeviceType::cpu,
               "devices: ",
               spec.device,
               " cannot be shape-only, as only devices of the host can; list cpu devices");
  TANDEM_CHECK(spec.has_data == first.has_data,
               "devices: ",
               spec.device,
               spec.has_data ? " has data, but " : " is shape-only, but ",
               first.device,
               first.has_data ? " has data" : " is shape-only",
               "; make all devices of a list shape-only, or none");
}

}  // namespace

int core_count() noexcept {
  static const int kCores = detect_cores();
  return kCores;
}

Runtime& Runtime::instance() {
  // Never destroyed: tensors and device threads may outlive main.
  static Runtime& runtime = *new Runtime;
  return runtime;
}

Runtime::Runtime() {
  TANDEM_CHECK(threads_asked() >= 0,
               "TANDEM_THREADS '",
               std::getenv("TANDEM_THREADS"),
               "': expected a number from 1 to ",
               kMaxThreads,
               "; unset it to use all cores");
  check_asked_capability();
  std::iota(gpus_.begin(), gpus_.end(), 0);
  const int gpus = gpu_backend().count();
  for (int i = 0; i < std::min(gpus > 0 ? gpus : core_count(), kMaxDevices); ++i)
    defaults_.push_back({gpus > 0 ? DeviceType::cuda : DeviceType::cpu, i});
  const char* const list = std::getenv("TANDEM_DEVICES");
  if (list == nullptr) {
    tell_missing_gpus();
    return;
  }
  try {
    configure(parse_devices(list));
  } catch (const InvalidArgument& e) {
    throw InvalidArgument(detail::concat("TANDEM_DEVICES: ", e.what()));
  }
}

LogicalDevice& Runtime::device(Device device) {
  TANDEM_CHECK(device.type == DeviceType::cpu || gpu_backend().has_gpus(),
               "device ",
               device,
               ": this build of tandem has no CUDA; use cpu devices");
  TANDEM_CHECK(device.index >= 0 && device.index < kMaxDevices,
               "device ",
               device,
               ": the index must be from 0 to ",
               kMaxDevices - 1);
  auto& slots = device.type == DeviceType::cuda ? cuda_ : cpu_;
  auto& slot = slots[static_cast<std::size_t>(device.index)];
  if (LogicalDevice* known = slot.load(std::memory_order_acquire)) [[likely]]
    return *known;
  const std::scoped_lock lock(mutex_);
  if (LogicalDevice* known = slot.load(std::memory_order_acquire)) return *known;
  owned_.push_back(std::make_unique<LogicalDevice>(
      device,
      device.type == DeviceType::cuda ? gpus_[static_cast<std::size_t>(device.index)] : -1));
  slot.store(owned_.back().get(), std::memory_order_release);
  return *owned_.back();
}

std::vector<LogicalDevice*> Runtime::made(DeviceType type) const {
  std::vector<LogicalDevice*> devices;
  for (const auto& slot : type == DeviceType::cuda ? cuda_ : cpu_) {
    if (LogicalDevice* device = slot.load(std::memory_order_acquire)) devices.push_back(device);
  }
  return devices;
}

std::vector<Device> Runtime::devices() const {
  const std::scoped_lock lock(mutex_);
  return defaults_;
}

void Runtime::configure(const std::vector<DeviceSpec>& devices) {
  TANDEM_CHECK(!devices.empty(), "devices: the list is empty; name at least one, like cpu:2");
  std::vector<Device> names;
  for (const DeviceSpec& spec : devices) {  // all checks before the first change
    TANDEM_CHECK(std::ranges::find(names, spec.device) == names.end(),
                 "devices: ",
                 spec.device,
                 " is listed twice");
    names.push_back(spec.device);
    check_data(devices.front(), spec);
  }
  const auto gpus = assign_gpus(devices);
  std::vector<LogicalDevice*> known;
  try {
    for (const Device name : names)
      known.push_back(&device(name));
  } catch (...) {
    const std::scoped_lock lock(mutex_);
    gpus_ = gpus;
    throw;
  }
  for (std::size_t i = 0; i < known.size(); ++i)
    known[i]->configure(devices[i]);
  stand_for_gpus({});
  const std::scoped_lock lock(mutex_);
  defaults_ = std::move(names);
}

void Runtime::stand_for_gpus(const std::vector<Device>& devices) {
  for (std::atomic<bool>& stands : stands_for_gpu_)
    stands.store(false, std::memory_order_relaxed);
  for (const Device device : devices) {
    TANDEM_CHECK(device.type == DeviceType::cpu && device.index >= 0 && device.index < kMaxDevices,
                 "stand_for_gpus: ",
                 device,
                 " is no device of the host; give cpu devices");
    stands_for_gpu_[static_cast<std::size_t>(device.index)].store(true, std::memory_order_relaxed);
  }
}

std::array<int, kMaxDevices> Runtime::assign_gpus(const std::vector<DeviceSpec>& devices) {
  const std::scoped_lock lock(mutex_);
  const auto before = gpus_;
  auto next = gpus_;
  for (const DeviceSpec& spec : devices) {
    if (spec.device.type != DeviceType::cuda || spec.gpu < 0) continue;
    const auto at = static_cast<std::size_t>(spec.device.index);
    gpu_backend().check_gpu(spec.device, spec.gpu);
    TANDEM_CHECK(cuda_.at(at).load() == nullptr || gpus_[at] == spec.gpu,
                 "devices: ",
                 spec.device,
                 " is in use on GPU ",
                 gpus_[at],
                 " and cannot move to GPU ",
                 spec.gpu,
                 "; list the devices before their first use");
    next[at] = spec.gpu;
  }
  gpus_ = next;
  return before;
}

int Runtime::count(DeviceType type) const {
  if (type == DeviceType::cpu) return kMaxDevices;
  const std::scoped_lock lock(mutex_);
  const auto listed = std::ranges::count(defaults_, DeviceType::cuda, &Device::type);
  return std::max(static_cast<int>(listed), std::min(gpu_backend().count(), kMaxDevices));
}

void Runtime::subscribe(Observer& observer) {
  const std::scoped_lock lock(mutex_);
  const Observers* old = observers_.load(std::memory_order_relaxed);
  auto next = old == nullptr ? std::make_unique<Observers>() : std::make_unique<Observers>(*old);
  next->push_back(&observer);
  lists_.push_back(std::move(next));  // owned before it is published
  observers_.store(lists_.back().get(), std::memory_order_release);
}

void Runtime::unsubscribe(Observer& observer) noexcept {
  const std::scoped_lock lock(mutex_);
  const Observers* old = observers_.load(std::memory_order_relaxed);
  if (old == nullptr) return;
  auto next = std::make_unique<Observers>(*old);
  std::erase(*next, &observer);
  lists_.push_back(std::move(next));
  observers_.store(lists_.back()->empty() ? nullptr : lists_.back().get(),
                   std::memory_order_release);
}

std::vector<Device> configure_devices(std::string_view list) {
  Runtime::instance().configure(parse_devices(list));
  return default_devices();
}

}  // namespace tandem
