// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "tandem/runtime/device.hpp"
#include "tandem/runtime/memory.hpp"

namespace tandem::cuda {
struct StreamTimes;
}

namespace tandem {

class Stream;
struct Work;

/// Bytes given, taken back, or moved to another category.
struct MemoryEvent {
  enum class Kind : std::uint8_t { allocate, free, recategorise };
  Kind kind;
  Device device;
  std::size_t nbytes;
  Category category;
  Category before;  ///< recategorise: the category until now; else equal to `category`
  Phase phase;      ///< of the calling thread
  const std::string& module_path;                     ///< that allocated the bytes
  const std::shared_ptr<const ModuleShares>& shares;  ///< whose they are; null: all that module's
  const void* data;
};

/// Bytes that went from one device to another.
struct CopyEvent {
  Device source;
  Device destination;
  std::size_t nbytes;
  Category category;  ///< of the destination
  Phase phase;
  /// When the bytes were under way: of a collective, from the arrival of the last rank. Of GPUs it
  /// is the time to queue.
  std::chrono::steady_clock::time_point begin;
  std::chrono::steady_clock::time_point end;
  /// When GPUs' streams had them under way, as profile::StepRecorder tells; null on the host, and
  /// where no observer asks for times_streams.
  std::shared_ptr<const cuda::StreamTimes> streams;
};

/// Sees what devices do. Called on the thread that does it, many at once: implementations are
/// thread-safe, quick, and do not throw or call tandem; they may look at context().
class Observer {
 public:
  virtual ~Observer() = default;
  /// Whether it is to be told when GPUs' streams do things, which costs them events.
  virtual bool times_streams() const noexcept { return false; }
  virtual void on_memory(const MemoryEvent&) noexcept {}
  virtual void on_copy(const CopyEvent&) noexcept {}
  virtual void on_work_begin(const Work&, const Stream&) noexcept {}
  virtual void on_work_end(const Work&, const Stream&) noexcept {}
  /// Work beside a GPU's main stream: a collective's, told on the thread that waited for it; only
  /// where some observer asks for times_streams.
  virtual void on_side_work(const Work&,
                            const Stream& /*side_stream*/,
                            const std::shared_ptr<const cuda::StreamTimes>&) noexcept {}
  /// A host read of device data: a synchronisation point.
  virtual void on_read(const char* /*op*/, Device, std::size_t /*nbytes*/) noexcept {}
};

/// Keeps an observer subscribed; ends it when destroyed.
class Subscription {
 public:
  /// Subscribes `observer`, which outlives this object. Not while a step runs.
  explicit Subscription(Observer& observer);
  ~Subscription();
  Subscription(const Subscription&) = delete;
  Subscription& operator=(const Subscription&) = delete;

 private:
  Observer& observer_;
};

}  // namespace tandem
