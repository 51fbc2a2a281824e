// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "tandem/runtime/dispatch.hpp"
#include "tandem/runtime/observer.hpp"

namespace tandem::bench {

/// What a device can do at most, measured now: a large product, and an addition of tensors that no
/// cache holds.
struct Roofs {
  double flops = 0;      ///< per second, f32
  double bandwidth = 0;  ///< bytes per second

  /// On `threads` threads, of a host device.
  static Roofs of(Device device, int threads);
  /// The least time of work of these sizes, in seconds.
  double least(double work_flops, double work_nbytes) const;
};

/// Time, arithmetic and bytes of the work of all devices, by name. Of a GPU's work it is the time
/// to queue it.
class Profile : public Observer {
 public:
  void on_work_begin(const Work& work, Device device) noexcept override;
  void on_work_end(const Work& work, Device device) noexcept override;
  /// Per step, the longest first, with the share of the roofs that each op reaches: to stderr.
  void print(std::int64_t steps, const Roofs& roofs) const;

 private:
  struct Row {
    double seconds = 0, flops = 0, nbytes = 0;
    std::int64_t calls = 0;
  };

  std::mutex mutex_;
  std::map<std::pair<Device, const Work*>, std::chrono::steady_clock::time_point> open_;
  std::map<std::string, Row> rows_;
};

}  // namespace tandem::bench
