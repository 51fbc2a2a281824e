// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/task_options.hpp"

#include <optional>
#include <utility>

#include "tandem/core/check.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/world/world.hpp"

#include "cli/models.hpp"
#include "cli/needs.hpp"
#include "cli/usage_error.hpp"

namespace tandem::cli {
namespace {

using tandem::detail::concat;

/// @throws UsageError  something else does not go together with gathered outputs.
training::LossPlace place_of_gathered(const TaskOptions& options) {
  if (options.world != nullptr)
    throw UsageError(
        "--gather-outputs gathers the outputs of one process, and several train together; leave "
        "it out");
  const std::string need = options.batch.option_of_step();
  if (!need.empty())
    throw UsageError(concat(need,
                            " needs outputs that stay where they are; leave out one of ",
                            need,
                            " and --gather-outputs"));
  return training::LossPlace::replica_and_outputs;
}

training::LossPlace loss_place(const TaskOptions& options) {
  if (options.mode.keeps_outputs()) return training::LossPlace::replica;
  if (options.mode.gather_outputs) return place_of_gathered(options);
  if (options.world != nullptr && !options.mode.is_single()) {
    if (!options.mode.loss_in_replica) return training::LossPlace::replica;
    throw UsageError(
        "--no-loss-in-replica gives the loss of one process's rows, and several train together; "
        "leave it out");
  }
  const std::string need = options.batch.option_of_step();
  if (!need.empty())
    throw UsageError(concat(need, " needs the loss in the replica; give --loss-in-replica"));
  return training::LossPlace::output_device;
}

/// What exchanges bytes with shape-only devices is shape-only, too.
void make_alike(const parallel::DataParallelOptions& parallel) {
  if (logical_device(parallel.devices.front()).has_data()) return;
  for (const std::optional<Device>& other :
       {parallel.output_device, parallel.sharding.offload, parallel.init_on}) {
    if (!other || !logical_device(*other).has_data()) continue;
    logical_device(*other).configure(
        {.device = *other, .limit = logical_device(*other).limit(), .has_data = false});
  }
}

}  // namespace

int TaskOptions::processes() const {
  return world == nullptr ? 1 : world->size();
}

sim::StepQuestion TaskOptions::question(std::vector<std::string> modes) const {
  return {.model = model.name, .dtype = numbers.dtype, .modes = std::move(modes)};
}

void TaskOptions::add_flags(CLI::App& app) {
  has_mode_flag = true;
  mode.add_flags(app);
  add_flags_but_mode(app);
}

void TaskOptions::add_flags_but_mode(CLI::App& app) {
  model.add_flags(app);
  devices.add_flags(app);
  sharding.add_flags(app);
  backend.add_flags(app);
  batch.add_flags(app);
  numbers.add_flags(app);
}

void TaskOptions::resolve() {
  constexpr std::int64_t kImages = 256, kLargeImages = 32, kWindows = 16;  // rows of a batch
  if (has_mode_flag) sharding.check(mode);
  mode.check();
  if (model.name.empty()) model.name = "cnn-small";
  model.resolve();
  const Model& chosen = model_of(model.name);
  if (batch.bitwise_leaves > 0 && chosen.has_batch_norm) {
    throw UsageError(concat("--bitwise-leaves is not for models with batch norm, such as ",
                            model.name,
                            "; leave out --bitwise-leaves, or use ",
                            models_that([](const Model& m) { return !m.has_batch_norm; })));
  }
  if (batch.rows > 0) return;
  const bool large = chosen.images == Images::imagenet;
  batch.rows = chosen.reads_text ? kWindows : large ? kLargeImages : kImages;
}

parallel::DataParallelOptions parallel_options(const TaskOptions& options,
                                               std::vector<Device> devices) {
  const BatchChoice& batch = options.batch;
  const std::optional<Device> output = options.mode.device_of_outputs();
  options.backend.check_serves(devices);
  if (options.mode.is_single()) {
    devices.resize(1);
    if (batch.gpu0_bsz || !batch.chunk_sizes.empty())
      throw UsageError(
          "--mode single has one device, which takes all rows; leave out --gpu0-bsz and "
          "--chunk-sizes");
  }
  batch.check(devices.size());
  if (!logical_device(devices.front()).has_data()) batch.check_simulated();
  options.backend.check_processes(options.processes());
  parallel::DataParallelOptions all{.devices = std::move(devices),
                                    .output_device = output,
                                    .mode = options.mode.mode(),
                                    .chunks = batch.policy(),
                                    .chunk_sizes = batch.chunk_sizes,
                                    .gpu0_bsz = batch.gpu0_bsz,
                                    .on_oom = batch.on_out_of_memory(),
                                    .accumulate = batch.accumulate,
                                    .bitwise_leaves = batch.bitwise_leaves,
                                    .backend = options.backend.backend(),
                                    .world = options.mode.is_single() ? nullptr : options.world};
  if (all.devices.size() > 1) options.sharding.apply(all);
  make_alike(all);
  return all;
}

std::unique_ptr<training::Task> make_task(const TaskOptions& options,
                                          const DataForm& form,
                                          const parallel::DataParallelOptions& parallel) {
  check_model_fits(options, form, parallel);
  const training::LossPlace place = loss_place(options);
  manual_seed(options.numbers.first_seed());
  return model_of(options.model.name)
      .make({.choice = options.model,
             .form = form,
             .dtype = options.numbers.storage(),
             .parallel = parallel,
             .loss_place = place});
}

}  // namespace tandem::cli
