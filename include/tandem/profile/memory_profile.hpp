// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
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

/// Bytes that are held for one reason.
struct Held {
  Category category;
  Phase phase;  ///< in which they were allocated; none: before the record, or in no step
  std::string module_path;  ///< whose they are: that allocated them, or whose parameters, gradients
                            ///< or optimizer's state they are; "": no module's
  std::size_t nbytes;
};

/// A device's memory after a change of it.
struct MemoryMoment {
  Since at;
  Phase phase;  ///< of the thread that made the change
  std::size_t in_use;
  CategoryBytes by_category;  ///< sums to in_use
};

/// One device's memory, from the beginning of a record to its end.
struct DeviceMemory {
  Device device;
  std::size_t peak = 0;                     ///< bytes as asked for, as MemoryStats counts them
  Since peak_at{};                          ///< the first moment of the peak
  Phase peak_phase{};                       ///< of the change that led to it
  std::vector<Held> at_peak = {};           ///< the largest first; they sum to `peak`
  std::size_t in_use = 0;                   ///< at the end
  std::vector<Held> now = {};               ///< the largest first; they sum to `in_use`
  std::vector<MemoryMoment> timeline = {};  ///< the first is the beginning
};

/// Whose bytes the devices held, at any moment of a record.
struct MemoryProfile {
  std::vector<DeviceMemory> devices;
  Since duration{};
  bool complete = true;  ///< false: the host had no memory to keep all of it; figures are of a part

  /// The first device's peak over the mean peak of the others; 1 where there are no others.
  double imbalance() const;
};

/// Sums by category.
CategoryBytes by_category(std::span<const Held> held);

/// Keeps every change of some devices' memory.
///
/// Thread-safe but for take(), which is called when nothing runs. What is held is kept as it
/// happens and sorted afterwards: an event costs a lock and the copy of a few numbers.
class MemoryRecorder final : public Observer {
 public:
  /// Made when nothing runs, just before it is subscribed: what the devices hold now is its
  /// beginning.
  explicit MemoryRecorder(std::span<const Device> devices);
  /// What was seen since the beginning, or since the last take().
  MemoryProfile take();

  void on_memory(const MemoryEvent& event) noexcept override;

 private:
  using Clock = std::chrono::steady_clock;
  struct Change {
    MemoryEvent::Kind kind;
    Category category;
    Phase phase;
    int device, path, shares;
    std::size_t nbytes;
    const void* data;
    Since at;
  };
  using Shares = std::vector<std::pair<int, std::size_t>>;  // paths, and the bytes of each
  /// A device's blocks, and what they come to.
  class Book;

  void begin();
  int path(const std::string& module_path);
  int shares_of(const std::shared_ptr<const ModuleShares>& shares);
  DeviceMemory play_back(std::size_t device, const std::vector<std::string>& paths) const;

  std::vector<Device> devices_;
  Clock::time_point start_;
  std::mutex mutex_;                              // guards what follows
  std::vector<std::vector<Change>> held_before_;  // by device, as allocations
  std::vector<Change> changes_;
  std::unordered_map<std::string, int> paths_;
  std::vector<Shares> shares_;
  std::unordered_map<std::shared_ptr<const ModuleShares>, int> known_shares_;
  bool complete_ = true;
};

/// What some devices hold while `step()` runs.
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
