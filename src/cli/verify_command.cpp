// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <iostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tandem/nn/difference.hpp"

#include "cli/commands.hpp"
#include "cli/setup.hpp"

namespace tandem::cli {
namespace {

constexpr double kTolerance64 = 1e-12;  // docs/exactness.md
constexpr double kTolerance32 = 1e-4;

/// The weights after `steps` steps on these devices.
nn::NamedValues train_weights(const RunOptions& options,
                              const DataSets& sets,
                              std::vector<Device> devices,
                              bool chunked) {
  RunOptions own = options;
  if (!chunked) {
    own.gpu0_bsz.reset();
    own.chunk_sizes.clear();
    own.mode = "single";
  }
  const auto parallel = parallel_options(own, devices);
  const auto task = make_task(own, sets, parallel);
  const auto optimizer = make_optimizer(own, task->module());
  data::DataLoader loader(sets.train,
                          loader_options(own, *sets.train, data::Split::train, devices.front()));
  for (std::int64_t step = 0; step < *own.steps;) {
    const auto batch = loader.next();
    if (!batch) continue;
    const auto result = task->step(*batch, *optimizer);
    ++step;
    if (!own.quiet && step == *own.steps)
      fmt::print(
          stderr, "{} device(s): loss {:.15g} after {} steps\n", devices.size(), result.loss, step);
  }
  nn::NamedValues weights;
  for (const auto& [name, x] : task->module().named_parameters())
    weights[name] = x.to_doubles();
  return weights;
}

}  // namespace

int run_verify(const RunOptions& given) {
  RunOptions options = resolve(given);
  if (options.dtype == "bf16")
    throw UsageError("--dtype bf16 rounds too much to compare weights; give f32 or f64");
  options.steps = given.steps.value_or(20);
  const std::vector<Device> devices = devices_of(options);
  const DataSets sets = load_data(options);
  const nn::NamedValues many = train_weights(options, sets, devices, true);
  const nn::NamedValues one = train_weights(options, sets, {devices.front()}, false);
  const auto [gap, name] = nn::difference(many, one);
  const double tolerance = options.dtype == "f64" ? kTolerance64 : kTolerance32;
  const bool equal = gap <= tolerance;
  if (options.json == "-") {
    std::cout << nlohmann::json{{"schema_version", 1},
                                {"model", options.model},
                                {"data", options.data},
                                {"steps", *options.steps},
                                {"dtype", options.dtype},
                                {"devices", devices.size()},
                                {"relative_difference", gap},
                                {"worst_tensor", name},
                                {"tolerance", tolerance},
                                {"equal", equal}}
                     .dump(2)
              << '\n';
  } else {
    fmt::print(
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
