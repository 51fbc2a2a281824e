// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tandem/profile/step_record.hpp"
#include "tandem/sim/configure.hpp"
#include "tandem/sim/simulate.hpp"

#include "report/recording.hpp"

namespace tandem::cli {

/// The devices on which a command works, and whose time counts: that of a watch, or that of a
/// machine for which virtual devices stand.
class Machine {
 public:
  /// These devices, timed by a watch.
  explicit Machine(std::vector<Device> devices) : devices_(std::move(devices)) {}
  /// The GPUs of a machine that need not be there.
  Machine(sim::ClusterDevices cluster, sim::CollectiveTimes collectives)
      : devices_(cluster.gpus), cluster_(std::move(cluster)), collectives_(collectives) {}

  /// Says of which step the machine's error is told.
  void ask(sim::StepQuestion question) { question_ = std::move(question); }

  const std::vector<Device>& devices() const noexcept { return devices_; }
  bool is_simulated() const noexcept { return cluster_.has_value(); }
  /// Where batches are before the devices get their rows.
  Device batch_device() const { return cluster_ ? cluster_->host : devices_.front(); }

  /// The record with this machine's times.
  ///
  /// @param devices  those that took part, from the first on
  profile::StepRecord timed(const profile::StepRecord& record,
                            const std::vector<Device>& devices) const;
  report::Recording timed(const report::Recording& recording,
                          const std::vector<Device>& devices) const;
  /// What takes steps, one after the other, and says how long each took.
  using Clock = std::function<std::chrono::duration<double>(const std::function<void()>&)>;
  Clock clock(const std::vector<Device>& devices) const;

  /// Whose times these are, of so many GPUs. The devices are those of a cluster.
  std::optional<profile::SimulatedMachine> simulated(int gpus) const;
  /// "simulated on 8 GPUs of a100-80x8; ...", of so many GPUs; none: times are measured.
  std::optional<std::string> description(int gpus) const;
  /// {"cluster": "a100-80x8", ...}, or null.
  nlohmann::json to_json() const;

 private:
  std::vector<Device> devices_;
  std::optional<sim::ClusterDevices> cluster_;
  sim::SimulateOptions options() const {
    return {.collectives = collectives_, .question = question_};
  }

  sim::CollectiveTimes collectives_ = sim::CollectiveTimes::library;
  std::optional<sim::StepQuestion> question_ = {};
};

}  // namespace tandem::cli
