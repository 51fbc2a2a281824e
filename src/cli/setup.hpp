// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tandem/data/data_loader.hpp"
#include "tandem/data/idx_dataset.hpp"
#include "tandem/optim/optimizer.hpp"
#include "tandem/parallel/options.hpp"
#include "tandem/train/task.hpp"

#include "cli/options.hpp"

namespace tandem::cli {

/// Both parts of a data set.
struct DataSets {
  std::shared_ptr<const data::IdxDataset> train, test;
};

/// @throws FileError  the files.
DataSets load_data(const RunOptions& options);

/// The devices that a list names, with their limits set. @throws UsageError  no such list.
std::vector<Device> devices_of(const RunOptions& options);

/// How the batch is cut. @throws UsageError  --gpu0-bsz and --chunk-sizes at once, or sizes that do
/// not fit.
parallel::DataParallelOptions parallel_options(const RunOptions& options,
                                               std::vector<Device> devices);

/// The seed of a run that begins.
std::uint64_t seed_of(const RunOptions& options);

/// The model by its name, for samples of this shape, on the first of the devices.
std::unique_ptr<train::Task> make_task(const RunOptions& options,
                                       const data::IdxDataset& data,
                                       const parallel::DataParallelOptions& parallel);

/// "cnn-small 1x28x28 f32, adamw": what a checkpoint must be of.
std::string model_identity(const RunOptions& options, const data::IdxDataset& data);

std::unique_ptr<optim::Optimizer> make_optimizer(const RunOptions& options, nn::Module& module);

/// Seeded shuffling for training, or in order for measuring.
data::LoaderOptions loader_options(const RunOptions& options,
                                   const data::IdxDataset& data,
                                   data::Split split,
                                   Device device);

}  // namespace tandem::cli
