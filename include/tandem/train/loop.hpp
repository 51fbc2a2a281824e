// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tandem/core/error.hpp"
#include "tandem/train/checkpoint.hpp"
#include "tandem/train/task.hpp"

namespace tandem::training {

/// A step that has ended.
struct StepInfo {
  std::int64_t step = 0;   ///< from 1, over the whole run
  std::int64_t epoch = 0;  ///< from 1
  std::int64_t batch = 0;  ///< from 1, in its epoch
  std::int64_t batches = 0;
  std::int64_t rows = 0;
  double loss = 0;
  std::chrono::duration<double> seconds{};  ///< of this step
};

/// A step of a run failed: the text has its number and the cause's text, the cause is nested (see
/// find_cause).
class StepError : public Error {
 public:
  StepError(std::int64_t step, const std::string& text) : Error(text), step_(step) {}
  /// From 1, over the whole run.
  std::int64_t step() const noexcept { return step_; }

 private:
  std::int64_t step_;
};

/// An epoch that has ended.
struct EpochInfo {
  std::int64_t epoch = 0;  ///< from 1
  double loss = 0;         ///< mean over what it trained on
  double test_loss = 0;
  double test_accuracy = 0;
  double seconds = 0;  ///< of training, measuring left out
};

struct LoopOptions {
  std::int64_t epochs = 1;
  std::optional<std::int64_t> steps = {};  ///< ends the run earlier
  std::string checkpoint = {};             ///< written after each epoch and at the end; empty: none
  std::optional<std::int64_t> save_every = {};  ///< steps after which it is written too
  optim::LRScheduler* schedule = nullptr;       ///< goes on by one with each update; null: none
  std::optional<DType> autocast =
      {};  ///< products in this type of 16 bits (see Autocast); none: off
  std::function<void(const StepInfo&)> on_step = {};    ///< before that step is saved
  std::function<void(const EpochInfo&)> on_epoch = {};  ///< likewise
  std::function<bool()> stop = {};                      ///< asked after each step
};

struct DeviceReport {
  Device device;
  std::int64_t rows = 0;  ///< of a full batch
  std::size_t peak_bytes = 0;
};

/// What a run has come to.
struct RunReport {
  std::vector<DeviceReport> devices;
  std::vector<EpochInfo> epochs;
  double step_ms_p50 = 0;
  double step_ms_p90 = 0;
  std::int64_t steps = 0;  ///< of this call
  bool stopped = false;    ///< by LoopOptions::stop
};

/// Trains `task` on `train`, measures it on `test` after each epoch, and writes checkpoints.
///
/// @param batch_size  of `train`; for the report.
/// @param state       where the run begins; where it has come to at the end, also after an error.
/// @throws StepError        nothing of that step has happened, and the last checkpoint stands.
/// @throws InvalidArgument  the run stands within an epoch of other batches or other data.
RunReport run(Task& task,
              optim::Optimizer& optimizer,
              datasets::DataLoader& train,
              datasets::DataLoader& test,
              std::int64_t batch_size,
              RunState& state,
              const LoopOptions& options);

/// What a task makes of a data set.
struct Measure {
  double accuracy = 0;  ///< share of right answers
  double loss = 0;      ///< mean
};

/// Measures over all of `loader`; changes nothing.
Measure measure(Task& task, datasets::DataLoader& loader);

}  // namespace tandem::training
