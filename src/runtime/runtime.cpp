// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/runtime/runtime.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <thread>

#include <sched.h>

#include "tandem/core/check.hpp"

namespace tandem {
namespace {

int detect_cores() noexcept {
  if (const char* text = std::getenv("TANDEM_THREADS")) {
    int n = 0;
    const auto [end, error] = std::from_chars(text, text + std::strlen(text), n);
    if (error == std::errc{} && *end == '\0' && n > 0) return n;
  }
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
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
  for (int i = 0; i < std::min(core_count(), kMaxDevices); ++i)
    defaults_.push_back({DeviceType::cpu, i});
  if (const char* list = std::getenv("TANDEM_DEVICES")) configure(parse_devices(list));
}

LogicalDevice& Runtime::device(Device device) {
  TANDEM_CHECK(device.type == DeviceType::cpu,
               "device ",
               device,
               ": this tandem was built without CUDA; use cpu devices");
  TANDEM_CHECK(device.index >= 0 && device.index < kMaxDevices,
               "device ",
               device,
               ": the index must be from 0 to ",
               kMaxDevices - 1);
  auto& slot = cpu_[static_cast<std::size_t>(device.index)];
  if (LogicalDevice* known = slot.load(std::memory_order_acquire)) [[likely]]
    return *known;
  const std::scoped_lock lock(mutex_);
  if (LogicalDevice* known = slot.load(std::memory_order_acquire)) return *known;
  owned_.push_back(std::make_unique<LogicalDevice>(device));
  slot.store(owned_.back().get(), std::memory_order_release);
  return *owned_.back();
}

std::vector<Device> Runtime::devices() const {
  const std::scoped_lock lock(mutex_);
  return defaults_;
}

void Runtime::configure(const std::vector<DeviceSpec>& devices) {
  TANDEM_CHECK(!devices.empty(), "devices: the list is empty; name at least one, like cpu:2");
  std::vector<Device> names;
  for (const DeviceSpec& spec : devices) {
    device(spec.device).set_limit(spec.limit.value_or(SIZE_MAX));
    names.push_back(spec.device);
  }
  const std::scoped_lock lock(mutex_);
  defaults_ = std::move(names);
}

void Runtime::subscribe(Observer& observer) {
  const std::scoped_lock lock(mutex_);
  const Observers* old = observers_.load(std::memory_order_relaxed);
  auto next = old == nullptr ? std::make_unique<Observers>() : std::make_unique<Observers>(*old);
  next->push_back(&observer);
  observers_.store(next.get(), std::memory_order_release);
  lists_.push_back(std::move(next));
}

void Runtime::unsubscribe(Observer& observer) noexcept {
  const std::scoped_lock lock(mutex_);
  const Observers* old = observers_.load(std::memory_order_relaxed);
  if (old == nullptr) return;
  auto next = std::make_unique<Observers>(*old);
  std::erase(*next, &observer);
  observers_.store(next->empty() ? nullptr : next.get(), std::memory_order_release);
  lists_.push_back(std::move(next));
}

void Runtime::manual_seed(std::uint64_t seed) noexcept {
  seed_.store(seed, std::memory_order_relaxed);
  forwards_.store(0, std::memory_order_relaxed);
  draws_.store(0, std::memory_order_relaxed);
}

std::vector<Device> configure_devices(std::string_view list) {
  Runtime::instance().configure(parse_devices(list));
  return default_devices();
}

Subscription::Subscription(Observer& observer) : observer_(observer) {
  Runtime::instance().subscribe(observer);
}
Subscription::~Subscription() {
  Runtime::instance().unsubscribe(observer_);
}

}  // namespace tandem
