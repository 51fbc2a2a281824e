// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/console.hpp"
#include "cli/setup.hpp"
#include "cli/trial.hpp"

namespace tandem::cli {
namespace {

/// The weights after the options' steps on these devices.
nn::NamedValues train_weights(const RunOptions& options,
                              const DataSets& sets,
                              const std::vector<Device>& devices) {
  Trial trial(options, sets, devices);
  trial.run(*options.steps, [&](std::int64_t step, double loss) {
    if (options.quiet || step < *options.steps) return;
    console::tell(
        "{} device(s): loss {:.15g} after {} steps\n", trial.task().devices().size(), loss, step);
  });
  return trial.weights();
}

}  // namespace

int run_verify(const RunOptions& given) {
  RunOptions options = resolve(given);
  if (options.dtype == "bf16")
    throw UsageError("--dtype bf16 rounds too much to compare weights; give f32 or f64");
  options.steps = given.steps.value_or(20);
  const std::vector<Device> devices = working_devices(options);
  const DataSets sets = load_data(options);
  const nn::NamedValues many = train_weights(options, sets, devices);
  const nn::NamedValues one = train_weights(on_one_device(options), sets, devices);
  const auto [gap, name] = nn::difference(many, one);
  const double tolerance = tolerance_of(options);
  const bool equal = gap <= tolerance;
  if (options.json == "-") {
    console::print("{}\n",
                   nlohmann::json{{"schema_version", 1},
                                  {"model", options.model},
                                  {"data", options.data},
                                  {"steps", *options.steps},
                                  {"dtype", options.dtype},
                                  {"devices", devices.size()},
                                  {"relative_difference", gap},
                                  {"worst_tensor", name},
                                  {"tolerance", tolerance},
                                  {"equal", equal}}
                       .dump(2));
  } else {
    console::print(
        "largest relative difference of the weights after {} steps in {}, {} devices against one: "
        "{:.3g} ({}); allowed {:.0e}: {}\n",
        *options.steps,
        options.dtype,
        devices.size(),
        gap,
        name.empty() ? "all tensors" : name,
        tolerance,
        equal ? "equal" : "NOT EQUAL");
  }
  return equal ? 0 : 1;
}

}  // namespace tandem::cli
