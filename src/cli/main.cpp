// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <charconv>
#include <cmath>
#include <cstdio>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "tandem/config.hpp"
#include "tandem/core/error.hpp"

#include "cli/commands.hpp"

namespace tandem::cli {
namespace {

constexpr const char* kDevicesHelp =
    "device list: cpu:N is N virtual devices of this machine, @SIZE limits each (cpu:4@512MiB), "
    "parts are joined by "
    "commas; everywhere else cpu:1 names one device. Default: TANDEM_DEVICES, else one per core";

/// The whole of `text` as a number, if it is one.
template <class T>
bool parse_number(const std::string& text, T& value) {
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && at == end;
}

CLI::Validator at_least(std::int64_t least) {
  const auto check = [least](std::string& text) -> std::string {
    std::int64_t value = 0;
    if (parse_number(text, value) && value >= least) return {};
    return fmt::format("needs a whole number of at least {}, not '{}'", least, text);
  };
  return {check, fmt::format("(at least {})", least)};
}

CLI::Validator above_zero() {
  const auto check = [](std::string& text) -> std::string {
    double value = 0;
    if (parse_number(text, value) && value > 0 && std::isfinite(value)) return {};
    return fmt::format("needs a number above 0, not '{}'", text);
  };
  return {check, "(above 0)"};
}

/// One sentence for a wrong command line: what is wrong, and where to read what is right.
std::string usage_message(const CLI::App* app, const CLI::Error& error) {
  std::string command = "tandem";
  for (const CLI::App* part : app->get_subcommands())
    command += ' ' + part->get_name();
  return fmt::format("tandem: {}; see {} --help\n", error.what(), command);
}

void add_run_options(CLI::App& app, RunOptions& o) {
  app.add_option("--model", o.model, "model to train")
      ->check(CLI::IsMember({"cnn-small", "cnn", "mlp"}))
      ->capture_default_str();
  app.add_option("--data", o.data, "data set")
      ->check(CLI::IsMember({"fashion-mnist", "digits"}))
      ->capture_default_str();
  app.add_option("--data-dir", o.data_dir, "directory of the data set's IDX files");
  app.add_option("--devices", o.devices, kDevicesHelp);
  app.add_option("--batch", o.batch, "rows of a batch, over all devices")
      ->check(at_least(1))
      ->capture_default_str();
  app.add_option("--gpu0-bsz", o.gpu0_bsz, "rows of the first device; the others share the rest")
      ->check(at_least(0));
  app.add_option("--chunk-sizes",
                 o.chunk_sizes,
                 "rows of each device, joined by commas; they add up to --batch")
      ->delimiter(',')
      ->check(at_least(0));
  app.add_option("--optimizer", o.optimizer, "adamw, or sgd with momentum 0.9")
      ->check(CLI::IsMember({"adamw", "sgd"}))
      ->capture_default_str();
  app.add_option("--lr", o.lr, "learning rate (default 0.001 for adamw, 0.05 for sgd)")
      ->check(above_zero());
  app.add_option("--dtype", o.dtype, "of parameters and arithmetic")
      ->check(CLI::IsMember({"f32", "f64"}))
      ->capture_default_str();
  app.add_option("--seed", o.seed, "of weights, shuffling and dropout (default 0)");
  app.add_flag("--quiet", o.quiet, "no summary and no progress");
}

int run(int argc, char** argv) {
  CLI::App app{"Trains one model on all devices of this machine, from one process."};
  app.name("tandem");
  app.set_version_flag("--version", std::string("tandem ") + version);
  app.require_subcommand(1);
  app.failure_message(usage_message);

  std::string list;
  bool json = false;
  auto* devices = app.add_subcommand("devices", "list the devices of this machine");
  devices->add_option("--devices", list, kDevicesHelp);
  devices->add_flag("--json", json, "as one JSON object");

  RunOptions train_options;
  auto* train = app.add_subcommand("train", "train a model under DataParallel");
  add_run_options(*train, train_options);
  train->add_option("--epochs", train_options.epochs, "passes over the data")
      ->check(at_least(1))
      ->capture_default_str();
  train->add_option("--steps", train_options.steps, "end after so many updates")
      ->check(at_least(1));
  auto* checkpoint =
      train->add_option("--checkpoint",
                        train_options.checkpoint,
                        "file that the run is saved to after each epoch and at the end");
  train
      ->add_flag(
          "--resume", train_options.resume, "go on from the checkpoint, with its seed and lr")
      ->needs(checkpoint);
  train->add_option(
      "--json", train_options.json, "write the results as JSON to this file; - for stdout");

  RunOptions verify_options;
  auto* verify = app.add_subcommand(
      "verify", "train on the devices and on one alone, and compare the weights");
  add_run_options(*verify, verify_options);
  verify->add_option("--steps", verify_options.steps, "updates of each (default 20)")
      ->check(at_least(1));
  verify->add_option("--json", verify_options.json, "- for JSON on stdout")
      ->check(CLI::IsMember({"-"}));

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    const int code = app.exit(e);
    return code == 0 ? 0 : 2;
  }
  if (devices->parsed()) return run_devices(list, json);
  return train->parsed() ? run_train(train_options) : run_verify(verify_options);
}

}  // namespace
}  // namespace tandem::cli

int main(int argc, char** argv) {
  try {
    return tandem::cli::run(argc, argv);
  } catch (const tandem::cli::UsageError& e) {
    fmt::print(stderr, "tandem: {}\n", e.what());
    return 2;
  } catch (const std::exception& e) {
    fmt::print(stderr, "tandem: {}\n", e.what());
    return 1;
  }
}
