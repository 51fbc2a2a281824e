// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "python/core/buffer_log.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "tandem/runtime/memory.hpp"
#include "tandem/runtime/observer.hpp"
#include "tandem/runtime/runtime.hpp"

#include "runtime/gpu/gpu_device.hpp"

namespace tandem::python {
namespace nb = nanobind;
namespace {

/// Modules, and the bytes of each.
using Owners = std::vector<std::pair<std::string, std::size_t>>;
/// Microseconds since 1970, GPU, address, category, phase.
using Entry = std::tuple<std::int64_t, int, std::uintptr_t, const char*, const char*, Owners>;

std::int64_t now() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(since).count();
}

Owners owners_of(const std::shared_ptr<const ModuleShares>& shares,
                 const std::string& path,
                 std::size_t nbytes) {
  Owners owners;
  if (shares == nullptr) return {{path, nbytes}};
  for (const ModuleShare& share : *shares)
    owners.emplace_back(share.module_path, share.nbytes);
  return owners;
}

/// The buffers of tandem on GPUs, from its construction to stop(): when each was made or got
/// another category. Thread-safe.
class BufferLog final : public Observer {
 public:
  BufferLog() {
    for (const LogicalDevice* device : Runtime::instance().made(DeviceType::cuda))
      for (const Holding& h : device->holdings())
        note(device->device(),
             h.data,
             h.category,
             Phase::none,
             owners_of(h.shares, h.module_path, h.nbytes));
    subscription_.emplace(*this);
  }

  void on_memory(const MemoryEvent& event) noexcept override {
    if (event.kind == MemoryEvent::Kind::free || event.device.type != DeviceType::cuda) return;
    try {
      note(event.device,
           event.data,
           event.category,
           event.phase,
           owners_of(event.shares, event.module_path, event.nbytes));
    } catch (const std::bad_alloc&) {  // then this one has no name
    }
  }

  std::vector<Entry> stop() {
    subscription_.reset();
    const std::scoped_lock lock(mutex_);
    return std::exchange(entries_, {});
  }

 private:
  void note(Device device, const void* data, Category category, Phase phase, Owners owners) {
    const int gpu = logical_device(device).gpu()->ordinal();
    const std::scoped_lock lock(mutex_);
    entries_.emplace_back(now(),
                          gpu,
                          reinterpret_cast<std::uintptr_t>(data),
                          name(category),
                          name(phase),
                          std::move(owners));
  }

  std::mutex mutex_;  // guards entries_
  std::vector<Entry> entries_;
  std::optional<Subscription> subscription_;
};

}  // namespace

void bind_buffer_log(nb::module_& m) {
  nb::class_<BufferLog>(m, "BufferLog", "The buffers of tandem on GPUs, from now on.")
      .def(nb::init<>())
      .def("stop",
           &BufferLog::stop,
           "Microseconds since 1970, GPU, address, category, phase, and the bytes of each module.");
}

}  // namespace tandem::python
