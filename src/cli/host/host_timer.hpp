// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "tandem/parallel/rank.hpp"
#include "tandem/runtime/device.hpp"

namespace tandem::cli {

/// Times what devices of this host do, each on its own thread.
class HostTimer {
 public:
  /// What a device repeats. It is made on the device's thread, before the first call is timed.
  using Work = std::function<void()>;
  using MakeWork = std::function<Work(parallel::Rank& rank)>;

  explicit HostTimer(std::vector<Device> devices) : devices_(std::move(devices)) {}

  /// The time of a call in seconds, from many rounds of a millisecond in each of which all
  /// devices begin together: of the fastest twentieth the slowest, since what else the machine does
  /// makes rounds longer, and never shorter.
  double seconds(const MakeWork& make_work) const;

 private:
  std::vector<Device> devices_;
};

}  // namespace tandem::cli
