// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <atomic>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "tandem/io/file.hpp"
#include "tandem/nn/summary.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/train/loop.hpp"

#include "cli/commands.hpp"
#include "cli/progress.hpp"
#include "cli/setup.hpp"

namespace tandem::cli {
namespace {

using Json = nlohmann::json;

volatile std::sig_atomic_t interrupted = 0;

/// Ends the run after the step at hand, with a checkpoint; a second signal ends the program.
void on_signal(int signal) {
  interrupted = signal;
  std::signal(signal, SIG_DFL);
}

/// A number, or null where JSON has none for it.
Json finite(double value) {
  return std::isfinite(value) ? Json(value) : Json();
}

Json to_json(const RunOptions& options, const train::RunReport& report) {
  Json devices = Json::array(), epochs = Json::array();
  for (const auto& d : report.devices)
    devices.push_back(
        {{"name", to_string(d.device)}, {"rows", d.rows}, {"peak_bytes", d.peak_bytes}});
  for (const auto& e : report.epochs) {
    epochs.push_back({{"epoch", e.epoch},
                      {"loss", finite(e.loss)},
                      {"test_accuracy", e.test_accuracy},
                      {"seconds", e.seconds}});
  }
  return {{"schema_version", 1},
          {"mode", name(parallel::Mode::server)},
          {"model", options.model},
          {"data", options.data},
          {"dtype", options.dtype},
          {"optimizer", options.optimizer},
          {"batch", options.batch},
          {"seed", seed_of(options)},
          {"steps", report.steps},
          {"devices", devices},
          {"epochs", epochs},
          {"step_ms", {{"p50", report.step_ms_p50}, {"p90", report.step_ms_p90}}}};
}

void print_report(const train::RunReport& report) {
  for (const auto& e : report.epochs) {
    fmt::print("epoch {}: loss {:.4f}, test accuracy {:.4f}, {:.1f} s\n",
               e.epoch,
               e.loss,
               e.test_accuracy,
               e.seconds);
  }
  fmt::print("step: {:.1f} ms p50, {:.1f} ms p90 over {} steps\n",
             report.step_ms_p50,
             report.step_ms_p90,
             report.steps);
  fmt::print("{:<8} {:>8} {:>12}\n", "device", "rows", "peak memory");
  for (const auto& d : report.devices)
    fmt::print("{:<8} {:>8} {:>12}\n", to_string(d.device), d.rows, format_nbytes(d.peak_bytes));
}

void write_json(const std::string& path, const Json& json) {
  const std::string text = json.dump(2) + "\n";
  if (path == "-") {
    std::cout << text;
    return;
  }
  const std::span<const char> bytes(text.data(), text.size());
  const std::span<const std::byte> parts[] = {std::as_bytes(bytes)};
  write_atomically(path, parts);
}

/// Finds out before the run, not after it, whether `path` can be written.
void check_writable(const std::string& path) {
  if (path.empty() || path == "-") return;
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  const std::string dir = parent.empty() ? "." : parent.string();
  std::error_code ignored;
  if (!std::filesystem::is_directory(dir, ignored) || access(dir.c_str(), W_OK) != 0) {
    throw FileError(
        path,
        -1,
        "the directory " + dir + " is not there or not writable; make it, or give another path");
  }
  if (std::filesystem::is_directory(path, ignored))
    throw FileError(path, -1, "is a directory; give the path of a file");
}

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
train::RunState resume(const RunOptions& options,
                       train::Task& task,
                       optim::Optimizer& optimizer,
                       const std::string& identity) {
  std::error_code ignored;
  if (!std::filesystem::exists(options.checkpoint, ignored))
    throw FileError(options.checkpoint,
                    -1,
                    "there is no checkpoint to go on from; leave out --resume to begin a run");
  const train::RunState state =
      train::load_checkpoint(options.checkpoint, task.module(), optimizer, identity);
  check_unchanged(options, "--seed", options.seed, state.seed);
  check_unchanged(options, "--lr", options.lr, optimizer.param_groups().front().lr());
  if (!options.quiet)
    fmt::print(stderr, "resumed from {} at step {}\n", options.checkpoint, state.step);
  return state;
}

/// Why a run ended early, and how it goes on.
void print_end(const RunOptions& options, const train::RunState& state) {
  if (options.checkpoint.empty())
    fmt::print(stderr,
               "interrupted after step {}; --checkpoint FILE would have kept the run\n",
               state.step);
  else
    fmt::print(stderr,
               "interrupted after step {}; --checkpoint {} --resume goes on\n",
               state.step,
               options.checkpoint);
}

}  // namespace

int run_train(const RunOptions& options) {
  check_writable(options.checkpoint);
  check_writable(options.json);
  const std::vector<Device> devices = devices_of(options);
  const auto parallel = parallel_options(options, devices);
  const DataSets sets = load_data(options);
  const auto task = make_task(options, *sets.train, parallel);
  const auto optimizer = make_optimizer(options, task->module());
  const std::string identity = model_identity(options, *sets.train);
  if (!options.quiet) fmt::print(stderr, "{}\n", nn::summary(task->module()));

  train::RunState state;
  state.model = identity;
  state.data = options.data;
  state.seed = seed_of(options);
  if (options.resume) state = resume(options, *task, *optimizer, identity);
  RunOptions seeded = options;
  seeded.seed = state.seed;
  data::DataLoader train(sets.train,
                         loader_options(seeded, *sets.train, data::Split::train, devices.front()));
  data::DataLoader test(sets.test,
                        loader_options(seeded, *sets.test, data::Split::test, devices.front()));

  auto progress = std::make_unique<Progress>(Progress::choose(options.quiet));
  interrupted = 0;
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
  const train::RunReport report = train::run(
      *task,
      *optimizer,
      train,
      test,
      options.batch,
      state,
      {.epochs = options.epochs,
       .steps = options.steps,
       .checkpoint = options.checkpoint,
       .on_step = [&](const train::StepInfo& info) { progress->step(info, options.epochs); },
       .on_epoch = [&](const train::EpochInfo& info) { progress->epoch(info, options.epochs); },
       .stop = [] { return interrupted != 0; }});
  progress.reset();
  if (report.stopped && !options.quiet) print_end(options, state);
  if (!options.json.empty()) write_json(options.json, to_json(seeded, report));
  if (options.json != "-") print_report(report);
  return report.stopped ? 128 + static_cast<int>(interrupted) : 0;
}

}  // namespace tandem::cli
