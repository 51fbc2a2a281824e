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

/// A finished step.
struct StepInfo {
  std::int64_t step = 0;   ///< counted from 1 over the whole run
  std::int64_t epoch = 0;  ///< counted from 1
  std::int64_t batch = 0;  ///< counted from 1 in the epoch
  std::int64_t batches = 0;
  std::int64_t rows = 0;  ///< of all processes that train together
  double loss = 0;
  std::chrono::duration<double> seconds{};  ///< time of this step
};

/// A step of a run failed. The message has the number of the step and the message of the cause,
/// which is nested (see find_cause).
class StepError : public Error {
 public:
  StepError(std::int64_t step, const std::string& text) : Error(text), step_(step) {}
  /// The number of the step, counted from 1 over the whole run.
  std::int64_t step() const noexcept { return step_; }

 private:
  std::int64_t step_;
};

/// A finished epoch.
struct EpochInfo {
  std::int64_t epoch = 0;  ///< counted from 1
  double loss = 0;         ///< mean over the epoch's training batches
  double test_loss = 0;
  double test_accuracy = 0;
  double seconds = 0;  ///< time of the training steps, without measuring
};

struct LoopOptions {
  std::int64_t epochs = 1;
  std::optional<std::int64_t> steps = {};  ///< the run ends earlier, after this many steps in all
  std::string checkpoint = {};             ///< written after each epoch and at the end; empty: none
  /// The number of files of a sharded checkpoint (save_sharded_checkpoint); not set: one file.
  std::optional<std::int64_t> checkpoint_files = {};
  std::optional<std::int64_t> save_every = {};  ///< number of steps after which it is also written
  optim::LRScheduler* schedule = nullptr;       ///< steps once after each update; null: none
  std::optional<DType> autocast = {};  ///< 16-bit type of products (see Autocast); not set: off
  std::function<void(const StepInfo&)> on_step = {};    ///< called before that step is saved
  std::function<void(const EpochInfo&)> on_epoch = {};  ///< called before that epoch is saved
  std::function<bool()> stop = {};  ///< called after each step; true ends the run
  /// Takes a step, which it is given, and says how long it took; not set: by a watch.
  std::function<std::chrono::duration<double>(const std::function<void()>&)> time_step = {};
};

struct DeviceReport {
  Device device;
  std::int64_t rows = 0;  ///< of the largest batch that ran; 0 if no step ran
  std::size_t peak_bytes = 0;
};

/// The results of a run.
struct RunReport {
  std::vector<DeviceReport> devices;
  std::vector<EpochInfo> epochs;
  double step_ms_p50 = 0;
  double step_ms_p90 = 0;
  std::int64_t steps = 0;  ///< number of steps of this call
  bool stopped = false;    ///< whether LoopOptions::stop ended the run
};

/// Trains `task` on `train`, measures it on `test` after each epoch, and writes checkpoints.
///
/// @param batch_size  the batch size of `train`, for the state
/// @param state       the state in which the run begins, and in which it ends, also after an error
/// @throws StepError        if a step fails. `state` does not include that step, and the last
///                          checkpoint is intact.
/// @throws InvalidArgument  if the run is within an epoch of batches of another size, its position
///                          is beyond the end of the epoch, or `train` has no batches.
RunReport run(Task& task,
              optim::Optimizer& optimizer,
              datasets::DataLoader& train,
              datasets::DataLoader& test,
              std::int64_t batch_size,
              RunState& state,
              const LoopOptions& options);

/// How well a task does on a data set.
struct Measure {
  double accuracy = 0;  ///< share of right answers
  double loss = 0;      ///< mean loss
};

/// Measures `task` on the rest of the loader's epoch, in evaluation mode. Afterwards the module and
/// all modules below it have the mode that the module had before.
Measure measure(Task& task, datasets::DataLoader& loader);

}  // namespace tandem::training
