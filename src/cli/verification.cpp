// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/verification.hpp"

#include <nlohmann/json.hpp>

#include "cli/console.hpp"
#include "cli/trial.hpp"
#include "cli/usage_error.hpp"

namespace tandem::cli {
namespace {

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

}  // namespace

Verification verify(const ComparisonChoice& choice, const std::vector<GivenFile>& written) {
  RunOptions own = choice.run;
  own.has_mode_flag = true;
  if (own.numbers.dtype == "bf16")
    throw UsageError("--dtype bf16 rounds too much to compare weights; give f32 or f64");
  const PreparedRun prepared = prepare_run(own, written);
  const RunOptions& options = prepared.options;
  const nn::NamedValues many = train_weights(options, prepared, choice.steps);
  const nn::NamedValues one = train_weights(on_one_device(options), prepared, choice.steps);
  return {
      .model = options.model.name,
      .data = options.data.name,
      .dtype = options.numbers.dtype,
      .steps = choice.steps,
      .devices = prepared.machine.devices().size() * static_cast<std::size_t>(options.processes()),
      .difference = nn::difference(many, one),
      .tolerance = tolerance_of(options)};
}

nlohmann::json to_json(const Verification& v) {
  return {{"schema_version", 1},
          {"model", v.model},
          {"data", v.data},
          {"steps", v.steps},
          {"dtype", v.dtype},
          {"devices", v.devices},
          {"relative_difference", v.difference.value},
          {"worst_tensor", v.difference.tensor},
          {"tolerance", v.tolerance},
          {"equal", v.is_equal()}};
}

void print(const Verification& v) {
  console::print(
      "largest relative difference of the weights after {} steps in {}, {} devices against one: "
      "{:.3g} ({}); allowed {:.0e}: {}\n",
      v.steps,
      v.dtype,
      v.devices,
      v.difference.value,
      v.difference.tensor.empty() ? "all tensors" : v.difference.tensor,
      v.tolerance,
      v.is_equal() ? "equal" : "NOT EQUAL");
}

}  // namespace tandem::cli
