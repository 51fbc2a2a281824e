// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "tandem/nn/summary.hpp"
#include "tandem/profile/nvtx.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/train/loop.hpp"

#include "cli/choices/checkpoint_choice.hpp"
#include "cli/choices/json_choice.hpp"
#include "cli/choices/metrics_choice.hpp"
#include "cli/choices/schedule_choice.hpp"
#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/launched.hpp"
#include "cli/metrics.hpp"
#include "cli/models.hpp"
#include "cli/output.hpp"
#include "cli/prepared_run.hpp"
#include "cli/progress.hpp"
#include "cli/signals.hpp"
#include "cli/subject.hpp"
#include "cli/usage_error.hpp"
#include "cli/validators.hpp"

namespace tandem::cli {
namespace {

struct TrainRequest {
  RunOptions run_options;
  std::int64_t epochs = 2;
  std::optional<std::int64_t> steps;
  ScheduleChoice schedule;
  CheckpointChoice checkpoint;
  MetricsChoice metrics;
  bool nvtx = false;
  JsonChoice json;

  void add_flags(CLI::App& app);
  int run() const;
};

void TrainRequest::add_flags(CLI::App& app) {
  run_options.add_flags(app);
  run_options.devices.add_cluster(app, sim::ClusterData::kept);
  begin_subject(app, Subject::steps);
  app.add_option("--epochs", epochs, "number of passes over the data")
      ->check(at_least(1))
      ->capture_default_str();
  app.add_option("--steps", steps, "number of updates after which the run ends")
      ->check(at_least(1));
  schedule.add_flags(app);
  checkpoint.add_flags(app);
  metrics.add_flags(app);
  app.add_flag(
      "--nvtx",
      nvtx,
      "show each piece of work as a range in Nsight Systems: nsys profile tandem train ...");
  json.add_flags(app);
}

/// @throws InvalidArgument  the command line gives another value than the run began with.
template <class T>
void check_unchanged(const std::string& checkpoint,
                     const char* option,
                     const std::optional<T>& given,
                     T own) {
  if (!given || *given == own) return;
  throw InvalidArgument(
      fmt::format("checkpoint {}: its run has {} {}, not {}; leave out {} to continue that run, or "
                  "start another run in another file",
                  checkpoint,
                  option,
                  own,
                  *given,
                  option));
}

/// Loads the checkpoint of a run that these options go on with.
training::RunState resume(const std::string& checkpoint,
                          const RunOptions& options,
                          training::Task& task,
                          optim::Optimizer& optimizer,
                          optim::LRScheduler* schedule,
                          const training::RunState& fresh) {
  std::error_code ignored;
  if (!std::filesystem::exists(checkpoint, ignored))
    throw FileError(
        checkpoint, -1, "there is no checkpoint to resume from; leave out --resume to start a run");
  const training::RunState state =
      training::load_checkpoint(checkpoint, task.module(), optimizer, fresh, schedule);
  if (state.vocabulary != fresh.vocabulary) {
    throw InvalidArgument(
        fmt::format("checkpoint {}: its run's text has other characters than this text; give the "
                    "same text to continue",
                    checkpoint));
  }
  check_unchanged(checkpoint, "--seed", options.numbers.seed, state.random->seed);
  const double lr = schedule == nullptr ? optimizer.param_groups().front().lr()
                                        : schedule->state_dict().at("base_lrs.0");
  check_unchanged(checkpoint, "--lr", options.optimizer.lr, lr);
  if (!options.quiet)
    console::tell("resumed from {} at step {}\n", console::one_line(checkpoint), state.step);
  return state;
}

/// Says which checkpoint a new run replaces, if there is one.
void tell_replaced(const CheckpointChoice& checkpoint) {
  std::error_code ignored;
  const std::string& path = checkpoint.path;
  if (path.empty() || checkpoint.resume || !std::filesystem::exists(path, ignored)) return;
  if (checkpoint.shards && std::filesystem::is_empty(path, ignored)) return;
  std::string what = "something other than a checkpoint";
  try {
    const training::RunState state = training::read_run_state(path);
    what = fmt::format("a run of {} at step {}", state.model, state.step);
  } catch (const Error&) {  // it is another file
  }
  console::tell("{} holds {}, which this run's first save will replace{}\n",
                console::one_line(path),
                console::one_line(what),
                what.starts_with("a run") ? "; --resume would continue it" : "");
}

/// Where a run begins.
training::RunState fresh_state(const RunOptions& options, const DataForm& form) {
  training::RunState state;
  state.model = model_identity(options, form);
  state.data = options.data.name;
  state.sizes = model_sizes(options.model, form);
  state.vocabulary = form.vocabulary.characters();
  return state;
}

/// Updates of the whole run.
std::int64_t total_steps(const TrainRequest& request, const BatchChoice& batch) {
  const std::int64_t batches = batch.samples / batch.rows + (batch.samples % batch.rows != 0);
  const bool fits = batches == 0 || request.epochs <= INT64_MAX / batches;
  const std::int64_t all = fits ? request.epochs * batches : INT64_MAX;
  return std::min(request.steps.value_or(all), all);
}

/// The options of the loop, without those who are told of steps and epochs.
training::LoopOptions loop_options(const TrainRequest& request,
                                   const Machine& machine,
                                   const training::Task& task,
                                   optim::LRScheduler* schedule,
                                   Launched& launched) {
  return {.epochs = request.epochs,
          .steps = request.steps,
          .checkpoint = launched.is_main() ? request.checkpoint.path : "",
          .checkpoint_files = request.checkpoint.shards,
          .save_every = request.checkpoint.save_every,
          .schedule = schedule,
          .autocast = request.run_options.numbers.products(),
          .stop = [&launched] { return launched.any(StopSignals::came() != 0); },
          .time_step = machine.clock(task.devices())};
}

/// What shows the run to Nsight Systems.
std::unique_ptr<profile::NvtxRanges> nvtx_ranges() {
  try {
    return std::make_unique<profile::NvtxRanges>();
  } catch (const InvalidArgument& e) {
    throw UsageError(fmt::format("--nvtx: {}", e.what()));
  }
}

/// Says that a run was interrupted, and how to go on.
void tell_end(const CheckpointChoice& checkpoint, std::int64_t step) {
  if (checkpoint.path.empty())
    console::tell("interrupted after step {}; --checkpoint FILE would have saved the run\n", step);
  else
    console::tell(
        "interrupted after step {}; {} --resume continues the run\n", step, checkpoint.options());
}

/// Loaders of both parts of the data.
struct Loaders {
  explicit Loaders(const PreparedRun& run)
      : train(run.sets.train,
              run.options.loader(
                  *run.sets.train, datasets::Split::train, run.machine.batch_device())),
        test(
            run.sets.test,
            run.options.loader(*run.sets.test, datasets::Split::test, run.machine.batch_device())) {
  }
  datasets::DataLoader train, test;
};

/// The signal that has stopped this run. It may have come to another process.
int stop_signal() {
  const int own = StopSignals::came();
  return own != 0 ? own : SIGTERM;
}

void write_results(const JsonChoice& json,
                   const PreparedRun& run,
                   const training::RunReport& report,
                   Measured measured) {
  json.write([&] {
    nlohmann::json results = to_json(run.options, report, measured);
    results["cluster"] = run.machine.to_json();
    if (report.stopped) results["interrupted"] = signal_name(stop_signal());
    return results;
  });
  if (!json.leaves_text()) return;
  print_report(report, measured);
  const int gpus = static_cast<int>(report.devices.size());
  if (const auto times = run.machine.description(gpus)) console::print("times: {}\n", *times);
}

/// @throws UsageError  the model sees in its input what it is to predict.
void check_predicts(const std::string& model) {
  if (model.empty() || !model_of(model).sees_later) return;
  throw UsageError(fmt::format(
      "--model {} sees the characters that train would have it predict, since train masks none; "
      "give --model {}. The other commands take steps of {}",
      model,
      models_that([](const Model& m) { return m.reads_text && !m.sees_later; }),
      model));
}

int TrainRequest::run() const {
  check_predicts(run_options.model.name);
  const auto ranges = nvtx ? nvtx_ranges() : nullptr;
  Launched launched;
  PreparedRun prepared = prepare_run(run_options.of_process(launched),
                                     {checkpoint.given_file(),
                                      json.given_file(),
                                      {"--metrics", metrics.file, FileUse::appended},
                                      {"--tensorboard", metrics.tensorboard, FileUse::folder}});
  RunOptions& options = prepared.options;
  const DataForm& form = prepared.sets.form;
  const Measured measured = form.is_text() ? Measured::text : Measured::images;
  const auto task = make_task(options, form, parallel_options(options, prepared.machine.devices()));
  const auto optimizer = options.make_optimizer(task->module());
  const auto rate = schedule.make(*optimizer, total_steps(*this, options.batch));
  if (!options.quiet) {
    console::tell("{}\n", nn::summary(task->module()));
    tell_replaced(checkpoint);
  }
  training::RunState state = fresh_state(options, form);
  if (checkpoint.resume)
    state = resume(checkpoint.path, options, *task, *optimizer, rate.get(), state);
  if (state.random) options.numbers.seed = state.random->seed;
  Loaders loaders(prepared);

  const StopSignals signals;  // before the first output that tells others of the run
  auto progress = std::make_unique<Progress>(Progress::choose(options.quiet), measured);
  const MetricsChoice told = launched.is_main() ? metrics : MetricsChoice{};
  RunMetrics numbers(
      told, checkpoint.append(), state.step, [&](const std::string& why) { progress->error(why); });
  training::LoopOptions loop = loop_options(*this, prepared.machine, *task, rate.get(), launched);
  loop.on_step = [&](const training::StepInfo& info) {
    StatusSignal::note_step(info.step);
    numbers.step(info);
    progress->step(info, epochs);
  };
  loop.on_epoch = [&](const training::EpochInfo& info) {
    numbers.epoch(info, state.step, task->devices());
    progress->epoch(info, epochs);
  };
  std::optional<Subscription> watched;
  if (ranges != nullptr) watched.emplace(*ranges);
  const training::RunReport report = training::run(
      *task, *optimizer, loaders.train, loaders.test, options.batch.rows, state, loop);
  progress.reset();
  if (report.stopped && !options.quiet) tell_end(checkpoint, state.step);
  if (launched.is_main()) write_results(json, prepared, report, measured);
  if (report.stopped) return 128 + stop_signal();
  return numbers.is_complete() ? 0 : 1;
}

}  // namespace

Command train_command() {
  return make_command<TrainRequest>({.name = "train",
                                     .summary = "train a model under DataParallel",
                                     .purpose = Purpose::train,
                                     .first_flags = {"--model",
                                                     "--data",
                                                     "--devices",
                                                     "--mode",
                                                     "--batch",
                                                     "--epochs",
                                                     "--optimizer",
                                                     "--lr",
                                                     "--checkpoint",
                                                     "--resume"}});
}

}  // namespace tandem::cli
