// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/train/loop.hpp"

#include <algorithm>

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/check.hpp"
#include "tandem/core/percentile.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/autocast.hpp"
#include "tandem/ops/compare.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/train/sharded_checkpoint.hpp"

namespace tandem::training {
namespace {

using Clock = std::chrono::steady_clock;

/// Sets evaluation mode until the end of the scope.
class Evaluation {
 public:
  explicit Evaluation(nn::Module& module) {
    for (nn::Module* m : module.modules())
      modes_.emplace_back(m, m->is_training() ? nn::Mode::training : nn::Mode::evaluation);
    module.eval();
  }
  ~Evaluation() {
    for (const auto& [module, mode] : modes_)  // a module comes before those within it
      module->train(mode);
  }
  Evaluation(const Evaluation&) = delete;
  Evaluation& operator=(const Evaluation&) = delete;

 private:
  std::vector<std::pair<nn::Module*, nn::Mode>> modes_;
};

/// One call of `run`.
class Loop {
 public:
  Loop(Task& task,
       optim::Optimizer& optimizer,
       datasets::DataLoader& train,
       datasets::DataLoader& test,
       RunState& state,
       const LoopOptions& options)
      : task_(task),
        optimizer_(optimizer),
        train_(train),
        test_(test),
        state_(state),
        options_(options) {}

  RunReport run(std::int64_t batch_size) {
    TANDEM_CHECK(state_.position.batch == 0 || state_.batch_size == batch_size,
                 "run: the saved run stopped after ",
                 state_.position.batch,
                 " batches of ",
                 state_.batch_size,
                 " rows in its epoch, but this run's batches have ",
                 batch_size,
                 "; give the same batch size to continue");
    TANDEM_CHECK(train_.batches() > 0, "run: the training data have no samples");
    std::optional<Autocast> mixed;
    if (options_.autocast) mixed.emplace(*options_.autocast);
    train_.seek(state_.position);
    state_.batch_size = batch_size;
    for (const Device d : task_.devices())
      logical_device(d).reset_peak();
    while (state_.position.epoch < options_.epochs && !ended())
      epoch();
    if (!is_saved_) save();
    report_devices();
    report_.step_ms_p50 = percentile(step_ms_, 0.5);
    report_.step_ms_p90 = percentile(step_ms_, 0.9);
    return std::move(report_);
  }

 private:
  /// No further step; a full epoch is still measured.
  bool ended() const {
    const bool enough = options_.steps && state_.step >= *options_.steps;
    return report_.stopped || (enough && state_.position.batch < train_.batches());
  }

  void save() {
    if (options_.checkpoint.empty()) return;
    const nn::Module& module = task_.module();
    const std::string& path = options_.checkpoint;
    if (const auto& files = options_.checkpoint_files) {
      save_sharded_checkpoint(
          path, module, optimizer_, state_, {.files = *files}, options_.schedule);
    } else {
      save_checkpoint(path, module, optimizer_, state_, options_.schedule);
    }
    is_saved_ = true;
  }

  void report_devices() {
    const std::vector<Device>& devices = task_.devices();
    std::vector<RowRange> rows(devices.size(), {0, 0});
    if (largest_batch_ > 0) rows = task_.plan(largest_batch_);
    for (std::size_t d = 0; d < devices.size(); ++d) {
      report_.devices.push_back(
          {devices[d], rows[d].size(), logical_device(devices[d]).memory_stats().peak});
    }
  }

  parallel::StepResult try_step(const datasets::Batch& batch) {
    try {
      return task_.step(batch, optimizer_);
    } catch (const std::exception& e) {
      const std::int64_t step = state_.step + 1;
      std::throw_with_nested(StepError(step,
                                       tandem::detail::concat("step ",
                                                              step,
                                                              " (epoch ",
                                                              state_.position.epoch + 1,
                                                              ", batch ",
                                                              train_.position().batch,
                                                              "): ",
                                                              e.what())));
    }
  }

  std::chrono::duration<double> time(const std::function<void()>& step) const {
    if (options_.time_step) return options_.time_step(step);
    const auto start = Clock::now();
    step();
    return Clock::now() - start;
  }

  void step(const datasets::Batch& batch) {
    parallel::StepResult result;
    const std::chrono::duration<double> seconds = time([&] { result = try_step(batch); });
    if (options_.schedule != nullptr) options_.schedule->step();
    ++state_.step;
    ++report_.steps;
    largest_batch_ = std::max(largest_batch_, batch.at(0).size(0));
    step_ms_.push_back(1e3 * seconds.count());
    state_.position = train_.position();
    state_.random = default_generator().get_state();
    state_.epoch_loss += result.loss * result.weight;
    state_.epoch_weight += result.weight;
    epoch_seconds_ += seconds.count();
    is_saved_ = false;
    if (options_.on_step) {
      options_.on_step({state_.step,
                        state_.position.epoch + 1,
                        state_.position.batch,
                        train_.batches(),
                        train_.whole_rows(),
                        result.loss,
                        seconds});
    }
    // After it was told: what is told of later steps can be undone when the run goes on from here.
    if (options_.save_every && state_.step % *options_.save_every == 0) save();
    if (options_.stop && options_.stop()) report_.stopped = true;
  }

  void epoch() {
    epoch_seconds_ = 0;
    while (!ended()) {
      const auto batch = train_.next();
      if (!batch) {
        end_epoch();
        return;
      }
      step(*batch);
    }
  }

  void end_epoch() {
    state_.position = train_.position();
    const double loss = state_.epoch_weight > 0 ? state_.epoch_loss / state_.epoch_weight : 0;
    state_.epoch_loss = state_.epoch_weight = 0;
    const Measure test = measure(task_, test_);
    report_.epochs.push_back({.epoch = state_.position.epoch,
                              .loss = loss,
                              .test_loss = test.loss,
                              .test_accuracy = test.accuracy,
                              .seconds = epoch_seconds_});
    is_saved_ = false;
    if (options_.on_epoch) options_.on_epoch(report_.epochs.back());
    save();
  }

  Task& task_;
  optim::Optimizer& optimizer_;
  datasets::DataLoader& train_;
  datasets::DataLoader& test_;
  RunState& state_;
  const LoopOptions& options_;
  RunReport report_;
  std::int64_t largest_batch_ = 0;  // in rows, of the steps of this call
  std::vector<double> step_ms_;
  double epoch_seconds_ = 0;
  bool is_saved_ = true;  // the run as it stands is in its checkpoint, or has not begun
};

}  // namespace

Measure measure(Task& task, datasets::DataLoader& loader) {
  const autograd::NoGrad off;
  const Evaluation evaluation(task.module());
  Score total;
  while (const auto batch = loader.next()) {
    const Score part = task.score(*batch);
    total.correct += part.correct;
    total.answers += part.answers;
    total.loss += part.loss;
    total.weight += part.weight;
  }
  if (total.answers == 0) return {};
  return {.accuracy = static_cast<double>(total.correct) / static_cast<double>(total.answers),
          .loss = total.loss / total.weight};
}

RunReport run(Task& task,
              optim::Optimizer& optimizer,
              datasets::DataLoader& train,
              datasets::DataLoader& test,
              std::int64_t batch_size,
              RunState& state,
              const LoopOptions& options) {
  return Loop(task, optimizer, train, test, state, options).run(batch_size);
}

}  // namespace tandem::training
