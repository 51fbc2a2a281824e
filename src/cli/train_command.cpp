// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "tandem/nn/summary.hpp"
#include "tandem/profile/nvtx.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/train/loop.hpp"

#include "cli/commands.hpp"
#include "cli/console.hpp"
#include "cli/metrics.hpp"
#include "cli/output.hpp"
#include "cli/output_files.hpp"
#include "cli/progress.hpp"
#include "cli/setup.hpp"
#include "cli/signals.hpp"

namespace tandem::cli {
namespace {

/// @throws InvalidArgument  the command line asks for another value than the run began with.
template <class T>
void check_unchanged(const RunOptions& options,
                     const char* option,
                     const std::optional<T>& given,
                     T own) {
  if (!given || *given == own) return;
  throw InvalidArgument(
      fmt::format("checkpoint {}: its run has {} {}, not {}; leave {} out to go on with it, or "
                  "begin another run in another file",
                  options.checkpoint,
                  option,
                  own,
                  *given,
                  option));
}

/// Loads the checkpoint of a run that these options go on with.
training::RunState resume(const RunOptions& options,
                          training::Task& task,
                          optim::Optimizer& optimizer,
                          optim::LRScheduler* schedule,
                          const training::RunState& fresh) {
  std::error_code ignored;
  if (!std::filesystem::exists(options.checkpoint, ignored))
    throw FileError(options.checkpoint,
                    -1,
                    "there is no checkpoint to go on from; leave out --resume to begin a run");
  const training::RunState state =
      training::load_checkpoint(options.checkpoint, task.module(), optimizer, fresh, schedule);
  if (state.vocabulary != fresh.vocabulary) {
    throw InvalidArgument(
        fmt::format("checkpoint {}: its run's text has other characters than this one; give the "
                    "same text to go on",
                    options.checkpoint));
  }
  check_unchanged(options, "--seed", options.seed, state.random->seed);
  const double lr = schedule == nullptr ? optimizer.param_groups().front().lr()
                                        : schedule->state_dict().at("base_lrs.0");
  check_unchanged(options, "--lr", options.lr, lr);
  if (!options.quiet)
    console::tell(
        "resumed from {} at step {}\n", console::one_line(options.checkpoint), state.step);
  return state;
}

/// Says it where a checkpoint stands in the place of a new run's.
void tell_replaced(const RunOptions& options) {
  std::error_code ignored;
  const std::string& path = options.checkpoint;
  if (path.empty() || options.resume || options.quiet || !std::filesystem::exists(path, ignored))
    return;
  std::string what = "no checkpoint of a run";
  try {
    const training::RunState state = training::read_run_state(path);
    what = fmt::format("a run of {} at step {}", state.model, state.step);
  } catch (const Error&) {  // it is another file
  }
  console::tell("{} holds {}, which is replaced at this run's first save{}\n",
                console::one_line(path),
                console::one_line(what),
                what.starts_with("a run") ? "; --resume would go on with it" : "");
}

/// Where a run begins.
training::RunState fresh_state(const RunOptions& options, const DataSets& sets) {
  training::RunState state;
  state.model = model_identity(options, sets);
  state.data = options.data;
  state.sizes = model_sizes(options, sets);
  state.vocabulary = sets.vocabulary.characters();
  return state;
}

/// Updates of the whole run.
std::int64_t total_steps(const RunOptions& options, const datasets::Dataset& data) {
  const std::int64_t batches = data.size() / options.batch + (data.size() % options.batch != 0);
  const bool fits = batches == 0 || options.epochs <= INT64_MAX / batches;
  const std::int64_t all = fits ? options.epochs * batches : INT64_MAX;
  return std::min(options.steps.value_or(all), all);
}

/// All but who is told of steps and epochs.
training::LoopOptions loop_options(const RunOptions& options, optim::LRScheduler* schedule) {
  return {.epochs = options.epochs,
          .steps = options.steps,
          .checkpoint = options.checkpoint,
          .save_every = options.save_every,
          .schedule = schedule,
          .autocast = options.dtype == "bf16" ? std::optional(DType::bf16) : std::nullopt,
          .stop = [] { return StopSignals::came() != 0; }};
}

/// What shows the run to Nsight Systems; null where that was not asked for.
std::unique_ptr<profile::NvtxRanges> nvtx_ranges(const RunOptions& options) {
  if (!options.nvtx) return nullptr;
  try {
    return std::make_unique<profile::NvtxRanges>();
  } catch (const InvalidArgument& e) {
    throw UsageError(fmt::format("--nvtx: {}", e.what()));
  }
}

/// Why a run ended early, and how it goes on.
void print_end(const RunOptions& options, const training::RunState& state) {
  if (options.checkpoint.empty())
    console::tell("interrupted after step {}; --checkpoint FILE would have kept the run\n",
                  state.step);
  else
    console::tell("interrupted after step {}; --checkpoint {} --resume goes on\n",
                  state.step,
                  console::one_line(options.checkpoint));
}

void write_results(const RunOptions& options,
                   const training::RunReport& report,
                   Measured measured) {
  nlohmann::json results = to_json(options, report, measured);
  if (report.stopped) results["interrupted"] = signal_name(StopSignals::came());
  if (!options.json.empty()) write_json(options.json, results);
  if (options.json != "-") print_report(report, measured);
}

}  // namespace

int run_train(const RunOptions& given) {
  const RunOptions options = resolve(given);
  const auto nvtx = nvtx_ranges(options);
  check_files({{"--text", options.text, FileUse::read},
               {"--checkpoint", options.checkpoint, FileUse::kept},
               {"--json", options.json},
               {"--metrics", options.metrics, FileUse::appended},
               {"--tensorboard", options.tensorboard, FileUse::folder}});
  const std::vector<Device> devices = working_devices(options);
  const auto parallel = parallel_options(options, devices);
  const DataSets sets = load_data(options);
  const Measured measured = sets.is_text() ? Measured::text : Measured::images;
  const auto task = make_task(options, sets, parallel);
  const auto optimizer = make_optimizer(options, task->module());
  const auto schedule = make_schedule(options, *optimizer, total_steps(options, *sets.train));
  if (!options.quiet) console::tell("{}\n", nn::summary(task->module()));

  tell_replaced(options);
  training::RunState state = fresh_state(options, sets);
  if (options.resume) state = resume(options, *task, *optimizer, schedule.get(), state);
  RunOptions seeded = options;
  if (state.random) seeded.seed = state.random->seed;
  datasets::DataLoader train(
      sets.train, loader_options(seeded, *sets.train, datasets::Split::train, devices.front()));
  datasets::DataLoader test(
      sets.test, loader_options(seeded, *sets.test, datasets::Split::test, devices.front()));

  auto progress = std::make_unique<Progress>(Progress::choose(options.quiet), measured);
  RunMetrics metrics(options, state.step, [&](const std::string& why) { progress->error(why); });
  const StopSignals signals;
  training::LoopOptions loop = loop_options(options, schedule.get());
  loop.on_step = [&](const training::StepInfo& info) {
    StatusSignal::note_step(info.step);
    metrics.step(info);
    progress->step(info, options.epochs);
  };
  loop.on_epoch = [&](const training::EpochInfo& info) {
    metrics.epoch(info, state.step, task->devices());
    progress->epoch(info, options.epochs);
  };
  std::optional<Subscription> watched;
  if (nvtx != nullptr) watched.emplace(*nvtx);
  const training::RunReport report =
      training::run(*task, *optimizer, train, test, options.batch, state, loop);
  progress.reset();
  if (report.stopped && !options.quiet) print_end(options, state);
  write_results(seeded, report, measured);
  if (report.stopped) return 128 + StopSignals::came();
  return metrics.is_complete() ? 0 : 1;
}

}  // namespace tandem::cli
