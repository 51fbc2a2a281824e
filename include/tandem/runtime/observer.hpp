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

namespace tandem {

class Stream;
struct StreamTimes;
struct Work;

/// Memory was allocated, freed, or moved to another category.
struct MemoryEvent {
  enum class Kind : std::uint8_t { allocate, free, recategorise };
  Kind kind;
  Device device;
  std::size_t nbytes;
  Category category;
  Category before;  ///< for recategorise, the category until now; else equal to `category`
  Phase phase;      ///< the calling thread's phase
  const std::string& module_path;                     ///< the module that allocated the bytes
  const std::shared_ptr<const ModuleShares>& shares;  ///< who owns them; null: all that module's
  const void* data;
};

/// Bytes were moved from one device to another.
struct CopyEvent {
  Device source;
  Device destination;
  std::size_t nbytes;
  Category category;  ///< the destination's
  Phase phase;
  /// When the bytes were moving; for a collective, from the arrival of the last rank. With GPUs it
  /// is the time in which the copy was queued.
  std::chrono::steady_clock::time_point begin;
  std::chrono::steady_clock::time_point end;
  /// When the GPUs' streams moved the bytes, from which profile::StepRecorder takes its times. Null
  /// on the host, and if no observer asks for times_streams.
  std::shared_ptr<const StreamTimes> streams;
  std::uint64_t exchange = 0;  ///< the collective that moved them (Exchange::id); 0: a copy
  /// The memory of the two buffers; null: not known, as of a collective.
  const void* from = nullptr;
  const void* to = nullptr;
  const char* carrier = "copies";  ///< what moved them, if both are GPUs: copies or NCCL; a literal
};

/// A thread gives a job to another one, or waits for its end.
struct JobEvent {
  enum class Kind : std::uint8_t {
    submitted,  ///< by the calling thread
    begun,      ///< on the calling thread
    ended,      ///< likewise
    joined,     ///< the calling thread has seen the end
  };
  Kind kind;
  std::uint64_t job;  ///< of no other job of this process
};

/// Is told what devices do. It is called on the threads that do it, on many at once. So an
/// implementation must be thread-safe and quick, and must not throw. It must not call tandem,
/// except to look at context().
class Observer {
 public:
  virtual ~Observer() = default;
  /// Whether the observer wants to know when GPUs' streams do things. This costs CUDA events.
  virtual bool times_streams() const noexcept { return false; }
  virtual void on_memory(const MemoryEvent&) noexcept {}
  virtual void on_copy(const CopyEvent&) noexcept {}
  virtual void on_work_begin(const Work&, const Stream&) noexcept {}
  virtual void on_work_end(const Work&, const Stream&) noexcept {}
  /// Work of a GPU's side stream (a collective). Called on the thread that waited for it, and only
  /// if some observer asks for times_streams.
  virtual void on_side_work(const Work&,
                            const Stream& /*side_stream*/,
                            const std::shared_ptr<const StreamTimes>&) noexcept {}
  /// The host reads device data, which is a synchronisation point.
  virtual void on_read(const char* /*op*/, Device, std::size_t /*nbytes*/) noexcept {}
  virtual void on_job(const JobEvent&) noexcept {}
};

/// Keeps an observer subscribed until it is destroyed.
class Subscription {
 public:
  /// Subscribes `observer`, which must outlive this object. Must not be called while a step runs.
  explicit Subscription(Observer& observer);
  ~Subscription();
  Subscription(const Subscription&) = delete;
  Subscription& operator=(const Subscription&) = delete;

 private:
  Observer& observer_;
};

}  // namespace tandem
