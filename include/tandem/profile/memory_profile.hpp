// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tandem/profile/step_record.hpp"
#include "tandem/runtime/device.hpp"
#include "tandem/runtime/memory.hpp"
#include "tandem/runtime/observer.hpp"

namespace tandem::profile {

using CategoryBytes = std::array<std::size_t, kCategories>;

/// Bytes that share one category, phase and owner.
struct Held {
  Category category;
  Phase phase;  ///< the phase that allocated them; none: before the record, or outside a step
  std::string module_path;  ///< the module that allocated them, or whose parameters, gradients or
                            ///< optimizer state they are; "": no module
  std::size_t nbytes;
};

/// A device's memory right after a change.
struct MemoryMoment {
  Duration at;
  Phase phase;  ///< the phase of the thread that made the change
  std::size_t in_use;
  CategoryBytes by_category;  ///< sums to in_use
  std::size_t works = 0;      ///< pieces of work that the device had been given in this record
};

/// One device's memory from the beginning of a record to its end.
struct DeviceMemory {
  Device device;
  std::size_t peak = 0;                     ///< bytes as requested, as in MemoryStats
  Duration peak_at{};                       ///< when the peak was first reached
  Phase peak_phase{};                       ///< the phase of the change that reached it
  std::vector<Held> at_peak = {};           ///< largest first; they sum to `peak`
  std::size_t in_use = 0;                   ///< at the end of the record
  std::vector<Held> now = {};               ///< at the end; largest first; they sum to `in_use`
  std::vector<MemoryMoment> timeline = {};  ///< the first moment is the beginning
};

/// What the devices held during a record, and for whom.
struct MemoryProfile {
  std::vector<DeviceMemory> devices;
  Duration duration{};
  bool complete = true;  ///< false: the host ran out of memory, so that changes are missing

  /// The first device's peak divided by the mean peak of the others. 1 if there are no others, or
  /// their peaks are zero.
  double imbalance() const;
};

/// The sums of bytes by category.
CategoryBytes by_category(std::span<const Held> held);
/// The most bytes that each category had during a record, each at its own moment.
CategoryBytes peak_of_each_category(const DeviceMemory& memory);

/// Records every change of the memory of some devices.
///
/// Thread-safe except for take(), which must be called when nothing runs. Changes are kept as they
/// happen and evaluated later. An event costs a lock, a look-up of its module path and the copy of
/// a few numbers.
class MemoryRecorder final : public Observer {
 public:
  /// Make it when nothing runs, just before subscribing it. The record begins with what the devices
  /// hold now.
  explicit MemoryRecorder(std::span<const Device> devices);
  /// The record since the construction or the last take().
  MemoryProfile take();

  void on_memory(const MemoryEvent& event) noexcept override;
  void on_work_begin(const Work& work, const Stream& stream) noexcept override;

 private:
  using Clock = std::chrono::steady_clock;
  struct Change {
    MemoryEvent::Kind kind;
    Category category;
    Phase phase;
    int device, path, shares;
    std::size_t nbytes;
    const void* data;
    Duration at;
    std::size_t works;
  };
  using Shares = std::vector<std::pair<int, std::size_t>>;  // number of a path, and its bytes
  /// The blocks of a device, and their sums.
  class Book;

  void begin();
  /// One of devices_; none: another one.
  std::optional<std::size_t> index_of(Device device) const noexcept;
  int path(const std::string& module_path);
  int shares_of(const std::shared_ptr<const ModuleShares>& shares);
  DeviceMemory play_back(std::size_t device, const std::vector<std::string>& paths) const;

  std::vector<Device> devices_;
  Clock::time_point start_;
  std::mutex mutex_;                              // guards the members below
  std::vector<std::vector<Change>> held_before_;  // by device, as allocations
  std::vector<Change> changes_;
  std::vector<std::size_t> works_;  // by device, that it has been given
  std::unordered_map<std::string, int> paths_;
  std::vector<Shares> shares_;
  std::unordered_map<std::shared_ptr<const ModuleShares>, int> known_shares_;
  bool complete_ = true;
};

/// Records what some devices hold while `step()` runs.
///
/// `const auto m = profile::record_memory(devices, [&] { dp.step(batch, loss, &optimizer); });`
template <class F>
MemoryProfile record_memory(std::span<const Device> devices, F&& step) {
  MemoryRecorder recorder(devices);
  {
    const Subscription subscription(recorder);
    std::forward<F>(step)();
  }
  return recorder.take();
}

}  // namespace tandem::profile
