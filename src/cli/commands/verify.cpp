// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/choices/json_choice.hpp"
#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/trial.hpp"
#include "cli/usage_error.hpp"
#include "cli/validators.hpp"

namespace tandem::cli {
namespace {

/// A run on the devices against the same on one. Exits with 1 if the weights differ.
struct VerifyRequest {
  RunOptions run_options;
  std::int64_t steps = 20;
  JsonChoice json;

  void add_flags(CLI::App& app) {
    run_options.add_flags(app);
    app.add_option("--steps", steps, "number of updates in each run")
        ->check(at_least(1))
        ->capture_default_str();
    json.add_flags(app);
  }
  int run() const;
};

/// The weights after some steps in the mode of `options`.
nn::NamedValues train_weights(const RunOptions& options,
                              const PreparedRun& prepared,
                              std::int64_t steps) {
  Trial trial(options, prepared.sets, prepared.machine);
  trial.run(steps, [&](std::int64_t step, double loss) {
    if (options.quiet || step < steps) return;
    console::tell(
        "{} device(s): loss {:.15g} after {} steps\n", trial.task().devices().size(), loss, step);
  });
  return trial.weights();
}

int VerifyRequest::run() const {
  if (run_options.numbers.dtype == "bf16")
    throw UsageError("--dtype bf16 rounds too much to compare weights; give f32 or f64");
  const PreparedRun prepared = prepare_run(run_options, {json.given_file()});
  const RunOptions& options = prepared.options;
  const nn::NamedValues many = train_weights(options, prepared, steps);
  const nn::NamedValues one = train_weights(on_one_device(options), prepared, steps);
  const auto [gap, name] = nn::difference(many, one);
  const double tolerance = tolerance_of(options);
  const bool equal = gap <= tolerance;
  json.write([&, gap = gap, name = name] {
    return nlohmann::json{{"schema_version", 1},
                          {"model", options.model.name},
                          {"data", options.data.name},
                          {"steps", steps},
                          {"dtype", options.numbers.dtype},
                          {"devices", prepared.machine.devices().size()},
                          {"relative_difference", gap},
                          {"worst_tensor", name},
                          {"tolerance", tolerance},
                          {"equal", equal}};
  });
  if (json.leaves_text()) {
    console::print(
        "largest relative difference of the weights after {} steps in {}, {} devices against one: "
        "{:.3g} ({}); allowed {:.0e}: {}\n",
        steps,
        options.numbers.dtype,
        prepared.machine.devices().size(),
        gap,
        name.empty() ? "all tensors" : name,
        tolerance,
        equal ? "equal" : "NOT EQUAL");
  }
  return equal ? 0 : 1;
}

}  // namespace

Command verify_command() {
  return make_command<VerifyRequest>(
      "verify", "train on the devices and on one device alone, and compare the weights");
}

}  // namespace tandem::cli
