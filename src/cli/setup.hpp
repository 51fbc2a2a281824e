// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tandem/data/data_loader.hpp"
#include "tandem/data/idx_dataset.hpp"
#include "tandem/data/text_dataset.hpp"
#include "tandem/nn/models/gpt.hpp"
#include "tandem/optim/lr_scheduler.hpp"
#include "tandem/optim/optimizer.hpp"
#include "tandem/parallel/options.hpp"
#include "tandem/train/task.hpp"

#include "cli/options.hpp"

namespace tandem::cli {

/// Both parts of a data set.
struct DataSets {
  std::shared_ptr<const datasets::Dataset> train, test;
  Shape sample;                     // of an image
  std::int64_t classes = 0;         // of an image
  datasets::Vocabulary vocabulary;  // of a text; empty: these are images

  bool is_text() const noexcept { return vocabulary.size() > 0; }
};

/// Model, data and batch size that go with what was given. @throws UsageError  they do not.
RunOptions resolve(RunOptions options);

/// @throws FileError        the files.
/// @throws InvalidArgument  a set without samples, or test images of another size.
DataSets load_data(const RunOptions& options);

/// The devices that a list names, with their limits set. @throws UsageError  no such list.
std::vector<Device> devices_of(const RunOptions& options);
/// The same for a command that works on them. @throws Error  the system's limits are too small.
std::vector<Device> working_devices(const RunOptions& options);

/// @throws UsageError  no such backend.
comm::Backend backend_of(const std::string& name);

/// Mode, devices, and how the batch is cut. @throws UsageError  --gpu0-bsz and --chunk-sizes at
/// once, sizes that do not fit, no such output device.
parallel::DataParallelOptions parallel_options(const RunOptions& options,
                                               std::vector<Device> devices);

/// The rows of the devices are found by steps without effect.
bool is_planned(const RunOptions& options) noexcept;

/// The option that needs DataParallel::step, with the loss in the replica; "": none.
std::string option_of_step(const RunOptions& options);

/// Where the loss is calculated. @throws UsageError  --accumulate or --bitwise-leaves with
/// the loss of gathered outputs.
training::LossPlace loss_place(const RunOptions& options);

/// Of parameters and data: f32 for bf16, in which the products alone are.
DType storage_dtype(const RunOptions& options);

/// The seed of a run that begins.
std::uint64_t seed_of(const RunOptions& options);

/// The model by its name, for these data, on the first of the devices.
std::unique_ptr<training::Task> make_task(const RunOptions& options,
                                          const DataSets& data,
                                          const parallel::DataParallelOptions& parallel);

/// "cnn-small 1x28x28 f32, adamw": what a checkpoint must be of.
std::string model_identity(const RunOptions& options, const DataSets& data);
/// Sizes that a checkpoint keeps, to build the model again.
std::map<std::string, std::int64_t> model_sizes(const RunOptions& options, const DataSets& data);
/// The model of such sizes. @throws InvalidArgument  one is missing.
nn::models::GptOptions gpt_options(const std::map<std::string, std::int64_t>& sizes);

std::unique_ptr<optim::Optimizer> make_optimizer(const RunOptions& options, nn::Module& module);
/// Null: the rate stays as it is.
std::unique_ptr<optim::LRScheduler> make_schedule(const RunOptions& options,
                                                  optim::Optimizer& optimizer,
                                                  std::int64_t steps);

/// Seeded shuffling for training, or in order for measuring.
datasets::LoaderOptions loader_options(const RunOptions& options,
                                       const datasets::Dataset& data,
                                       datasets::Split split,
                                       Device device);

}  // namespace tandem::cli
