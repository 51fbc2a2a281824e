// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tandem/profile/step_record.hpp"

namespace tandem::testing {

/// GPU i.
inline Device gpu(int i) {
  return {DeviceType::cpu, i + 1};
}
inline const Device kHost{DeviceType::cpu, 0};

inline std::vector<Device> gpus(int n) {
  std::vector<Device> all;
  for (int i = 0; i < n; ++i)
    all.push_back(gpu(i));
  return all;
}

/// Writes a record as threads would leave it.
class Log {
 public:
  /// Work that takes so many microseconds at 1 TB/s.
  void work(int thread, Device device, int microseconds) {
    profile::WorkSpan span = span_of(thread, device, Work::Kind::elementwise, "work");
    span.cost.nbytes = static_cast<std::size_t>(microseconds) * 1'000'000;
    record_.work.push_back(span);
  }
  using Point = Exchange::Point;
  void all_reduce(int thread, int rank, Point point, std::uint64_t id, std::size_t nbytes) {
    profile::WorkSpan span = span_of(thread, gpu(rank), Work::Kind::collective, "all_reduce");
    span.exchange = {.id = id, .rank = rank, .ranks = 2, .nbytes = nbytes, .point = point};
    record_.work.push_back(span);
  }
  void copy(int thread, Device from, Device to, std::size_t nbytes) {
    record_.transfers.push_back({from,
                                 to,
                                 Category::input,
                                 Phase::scatter,
                                 nbytes,
                                 {},
                                 {},
                                 {},
                                 {},
                                 -1,
                                 thread,
                                 ++sequence_,
                                 0});
  }
  void read(int thread, Device device) {
    record_.reads.push_back({device, 0, thread, ++sequence_});
  }
  void job(int thread, JobEvent::Kind kind, std::uint64_t job) {
    record_.jobs.push_back({{kind, job}, thread, ++sequence_});
  }
  profile::StepRecord& record() { return record_; }

 private:
  profile::WorkSpan span_of(int thread, Device device, Work::Kind kind, const char* name) {
    profile::WorkSpan span{};
    span.device = device;
    span.kind = kind;
    span.name = name;
    span.thread = thread;
    span.sequence = ++sequence_;
    return span;
  }
  std::int64_t sequence_ = 0;
  profile::StepRecord record_;
};

/// The i-th piece of work of a device.
inline const profile::WorkSpan& work_of(const profile::StepRecord& record,
                                        Device device,
                                        std::size_t i) {
  std::vector<const profile::WorkSpan*> own;
  for (const profile::WorkSpan& span : record.work)
    if (span.device == device) own.push_back(&span);
  std::ranges::sort(own, {}, &profile::WorkSpan::sequence);
  return *own.at(i);
}

}  // namespace tandem::testing
