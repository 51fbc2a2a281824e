// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/setup.hpp"

#include <numeric>

#include "tandem/core/check.hpp"
#include "tandem/data/sampler.hpp"
#include "tandem/nn/models/cnn.hpp"
#include "tandem/nn/models/mlp.hpp"
#include "tandem/optim/adam.hpp"
#include "tandem/optim/sgd.hpp"
#include "tandem/runtime/runtime.hpp"

namespace tandem::cli {
namespace {

using tandem::detail::concat;

template <class M>
std::unique_ptr<train::Task> classifier(M module, const parallel::DataParallelOptions& options) {
  module.to(options.devices.front());
  return std::make_unique<train::Classifier<M>>(std::move(module), options);
}

}  // namespace

DataSets load_data(const RunOptions& options) {
  const data::LoadOptions load{.dir = options.data_dir, .dtype = parse_dtype(options.dtype)};
  if (options.data == "digits")
    return {data::load_digits(data::Split::train, load),
            data::load_digits(data::Split::test, load)};
  return {data::load_fashion_mnist(data::Split::train, load),
          data::load_fashion_mnist(data::Split::test, load)};
}

std::vector<Device> devices_of(const RunOptions& options) {
  try {
    return options.devices.empty() ? default_devices() : configure_devices(options.devices);
  } catch (const InvalidArgument& e) {
    throw UsageError(concat(options.devices.empty() ? "" : "--devices: ", e.what()));
  }
}

parallel::DataParallelOptions parallel_options(const RunOptions& options,
                                               std::vector<Device> devices) {
  if (options.gpu0_bsz && !options.chunk_sizes.empty()) {
    throw UsageError("--gpu0-bsz and --chunk-sizes both say how a batch is cut; give one of them");
  }
  if (!options.chunk_sizes.empty()) {
    const auto total =
        std::accumulate(options.chunk_sizes.begin(), options.chunk_sizes.end(), std::int64_t{0});
    if (options.chunk_sizes.size() != devices.size()) {
      throw UsageError(concat("--chunk-sizes gives ",
                              options.chunk_sizes.size(),
                              " sizes for ",
                              devices.size(),
                              " devices; give one for each"));
    }
    if (total != options.batch) {
      throw UsageError(concat(
          "--chunk-sizes add up to ", total, ", --batch is ", options.batch, "; make them equal"));
    }
  }
  return {.devices = std::move(devices),
          .chunk_sizes = options.chunk_sizes,
          .gpu0_bsz = options.gpu0_bsz};
}

std::uint64_t seed_of(const RunOptions& options) {
  return options.seed.value_or(0);
}

std::unique_ptr<train::Task> make_task(const RunOptions& options,
                                       const data::IdxDataset& data,
                                       const parallel::DataParallelOptions& parallel) {
  const Shape shape = data.sample_shape();
  const DType dtype = parse_dtype(options.dtype);
  manual_seed(seed_of(options));
  if (options.model == "mlp") {
    return classifier(
        nn::models::Mlp({.sizes = {numel(shape), 1024, 1024, data.classes()}, .dtype = dtype}),
        parallel);
  }
  if (options.model == "cnn") {
    return classifier(
        nn::models::Cnn({.channels = shape[0], .classes = data.classes(), .dtype = dtype}),
        parallel);
  }
  return classifier(nn::models::CnnSmall({.channels = shape[0],
                                          .size = {shape[1], shape[2]},
                                          .classes = data.classes(),
                                          .dtype = dtype}),
                    parallel);
}

std::string model_identity(const RunOptions& options, const data::IdxDataset& data) {
  const Shape shape = data.sample_shape();
  return concat(options.model,
                ' ',
                shape[0],
                'x',
                shape[1],
                'x',
                shape[2],
                ' ',
                options.dtype,
                ", ",
                options.optimizer);
}

std::unique_ptr<optim::Optimizer> make_optimizer(const RunOptions& options, nn::Module& module) {
  if (options.optimizer == "sgd") {
    return std::make_unique<optim::SGD>(
        module.named_parameters(),
        optim::SGDOptions{.lr = options.lr.value_or(0.05), .momentum = 0.9});
  }
  return std::make_unique<optim::AdamW>(module.named_parameters(),
                                        optim::AdamWOptions{.lr = options.lr.value_or(1e-3)});
}

data::LoaderOptions loader_options(const RunOptions& options,
                                   const data::IdxDataset& data,
                                   data::Split split,
                                   Device device) {
  const bool training = split == data::Split::train;
  return {.batch_size = options.batch,
          .sampler = training ? data::random_sampler(data.size(), seed_of(options))
                              : data::sequential_sampler(data.size()),
          .device = device};
}

}  // namespace tandem::cli
