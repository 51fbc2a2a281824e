// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/setup.hpp"

#include <cstdint>

#include "tandem/config.hpp"
#include "tandem/core/check.hpp"
#include "tandem/data/cifar10.hpp"
#include "tandem/data/sampler.hpp"
#include "tandem/optim/adam.hpp"
#include "tandem/optim/sgd.hpp"
#include "tandem/runtime/runtime.hpp"

#include "cli/limits.hpp"

namespace tandem::cli {
namespace {

using tandem::detail::concat;

/// A data set of images in its two parts, by the function that loads one.
template <class Load>
DataSets images(const RunOptions& options, Load load) {
  const datasets::LoadOptions from{.dir = options.data_dir, .dtype = storage_dtype(options)};
  const auto train = load(datasets::Split::train, from), test = load(datasets::Split::test, from);
  return {.train = train,
          .test = test,
          .sample = train->sample_shape(),
          .classes = train->classes(),
          .vocabulary = {}};
}

/// @throws UsageError  something was given that the model and its data have no use for.
void check_used(const RunOptions& options, bool text) {
  if (text) {
    if (!options.data_dir.empty())
      throw UsageError("--data-dir is of images; --text FILE names a text, or leave it out");
    if (options.gpt.width % options.gpt.heads != 0) {
      throw UsageError(concat("--heads ",
                              options.gpt.heads,
                              " do not divide --width ",
                              options.gpt.width,
                              "; give a width that is a multiple of them"));
    }
    return;
  }
  if (!options.text.empty())
    throw UsageError("--text is a file for --data text; give that too, or leave it out");
  if (!options.gpt.given.empty()) {
    throw UsageError(concat(options.gpt.given,
                            " is of gpt, not of ",
                            options.model,
                            "; leave it out, or give --model gpt"));
  }
}

/// @throws UsageError  --bitwise-leaves with what it does not go together with.
void check_leaves(const RunOptions& options) {
  if (options.bitwise_leaves == 0) return;
  if (options.accumulate > 1)
    throw UsageError("--bitwise-leaves and --accumulate both cut the batch; give one of them");
  if (options.model == "cnn" || options.model == "resnet18") {
    throw UsageError(concat("--bitwise-leaves is not for models with batch norm, as ",
                            options.model,
                            "; leave it out, or give cnn-small, mlp or gpt"));
  }
}

DataSets read_data(const RunOptions& options) {
  if (options.data == "digits") return images(options, datasets::load_digits);
  if (options.data == "fashion-mnist") return images(options, datasets::load_fashion_mnist);
  if (options.data == "cifar10") return images(options, datasets::load_cifar10);
  const datasets::TextData text =
      datasets::load_text({.path = options.text, .context = options.gpt.context});
  return {.train = text.train, .test = text.test, .sample = {}, .vocabulary = text.vocabulary};
}

/// "single" is one device, in any mode.
parallel::Mode mode_of(const RunOptions& options) {
  constexpr std::string_view kPrefix = "dp-";
  std::string_view mode = options.mode;
  if (mode.starts_with(kPrefix)) mode.remove_prefix(kPrefix.size());
  return parallel::parse_mode(mode).value_or(parallel::Mode::sharded);
}

std::optional<parallel::ChunkPolicy> chunks_of(const RunOptions& options) {
  using enum parallel::PlanGoal;
  if (options.chunks == "planned") return parallel::ChunkPolicy::planned(least_peak);
  if (options.chunks == "planned-time") return parallel::ChunkPolicy::planned(least_time);
  return std::nullopt;
}

std::optional<Device> output_device(const RunOptions& options) {
  if (options.output_device.empty()) return std::nullopt;
  try {
    return parse_device(options.output_device);
  } catch (const InvalidArgument& e) {
    throw UsageError(concat("--output-device: ", e.what()));
  }
}

/// @throws UsageError  the backend cannot serve these devices.
void check_backend(comm::Backend backend, const std::vector<Device>& devices) {
  if (backend != comm::Backend::nccl) return;
  if (!has_nccl)
    throw UsageError("--backend nccl: this build has no NCCL (-D TANDEM_NCCL=ON); use local");
  for (const Device d : devices) {
    if (d.type != DeviceType::cuda)
      throw UsageError(concat("--backend nccl: ", d, " is no GPU; use local"));
  }
}

/// @throws UsageError  what was given of the cut of a batch does not fit, or not together.
void check_cut(const RunOptions& options, std::size_t devices) {
  if (devices == 1 && options.mode == "single" &&
      (options.gpu0_bsz || !options.chunk_sizes.empty()))
    throw UsageError(
        "--mode single has one device, which takes all rows; leave --gpu0-bsz and --chunk-sizes "
        "out");
  if (options.gpu0_bsz && !options.chunk_sizes.empty()) {
    throw UsageError("--gpu0-bsz and --chunk-sizes both say how a batch is cut; give one of them");
  }
  if (is_planned(options) && (options.gpu0_bsz || !options.chunk_sizes.empty()))
    throw UsageError(concat(
        "--chunks ", options.chunks, " finds the rows; leave --gpu0-bsz and --chunk-sizes out"));
  if (!options.chunk_sizes.empty()) {
    if (options.chunk_sizes.size() != devices) {
      throw UsageError(concat("--chunk-sizes gives ",
                              options.chunk_sizes.size(),
                              " sizes for ",
                              devices,
                              " devices; give one for each"));
    }
    std::int64_t total = 0;
    for (const std::int64_t rows : options.chunk_sizes)
      total = rows > INT64_MAX - total ? INT64_MAX : total + rows;
    if (total != options.batch) {
      throw UsageError(concat(
          "--chunk-sizes add up to ", total, ", --batch is ", options.batch, "; make them equal"));
    }
  }
}

}  // namespace

RunOptions resolve(RunOptions options) {
  if (options.model.empty()) options.model = options.data == "text" ? "gpt" : "cnn-small";
  const bool text = options.model == "gpt";
  if (options.data.empty()) options.data = text ? "text" : "fashion-mnist";
  if (text != (options.data == "text")) {
    throw UsageError(
        concat("--model ",
               options.model,
               " does not read --data ",
               options.data,
               text ? "; it is a model of text: give --data text" : "; a text needs --model gpt"));
  }
  check_used(options, text);
  if (options.recompute && !text && options.model != "resnet18") {
    throw UsageError(
        concat("--recompute is for models of blocks (gpt, resnet18), not for ", options.model));
  }
  check_leaves(options);
  if (options.batch == 0) options.batch = text ? 16 : 256;
  return options;
}

DataSets load_data(const RunOptions& options) {
  DataSets sets = read_data(options);
  for (const datasets::Dataset* set : {sets.train.get(), sets.test.get()}) {
    if (set->size() == 0)
      throw InvalidArgument(concat("--data ",
                                   options.data,
                                   ": the ",
                                   set == sets.train.get() ? "training" : "test",
                                   " set holds no samples"));
  }
  return sets;
}

std::vector<Device> devices_of(const RunOptions& options) {
  try {
    return options.devices.empty() ? default_devices() : configure_devices(options.devices);
  } catch (const InvalidArgument& e) {
    throw UsageError(concat(options.devices.empty() ? "" : "--devices: ", e.what()));
  }
}

std::vector<Device> working_devices(const RunOptions& options) {
  std::vector<Device> devices = devices_of(options);
  check_limits(devices.size());
  return devices;
}

bool is_planned(const RunOptions& options) noexcept {
  return options.chunks.starts_with("planned");
}

std::string option_of_step(const RunOptions& options) {
  if (options.accumulate > 1) return "--accumulate";
  if (options.bitwise_leaves > 0) return "--bitwise-leaves";
  if (is_planned(options)) return "--chunks " + options.chunks;
  return options.on_oom == "replan" ? "--on-oom replan" : "";
}

training::LossPlace loss_place(const RunOptions& options) {
  const bool replica = options.loss_in_replica.value_or(options.mode != "dp-classic");
  const std::string need = option_of_step(options);
  if (!replica && !need.empty())
    throw UsageError(concat(need, " needs the loss in the replica; give --loss-in-replica"));
  return replica ? training::LossPlace::replica : training::LossPlace::output_device;
}

comm::Backend backend_of(const std::string& name) {
  const std::optional<comm::Backend> backend = comm::parse_backend(name);
  if (!backend) throw UsageError(concat("--backend ", name, "; expected local or nccl"));
  return *backend;
}

parallel::DataParallelOptions parallel_options(const RunOptions& options,
                                               std::vector<Device> devices) {
  const std::optional<Device> output = output_device(options);
  const comm::Backend backend = backend_of(options.backend);
  check_backend(backend, devices);
  if (options.mode == "single") devices.resize(1);
  check_cut(options, devices.size());
  return {.devices = std::move(devices),
          .output_device = output,
          .mode = mode_of(options),
          .chunks = chunks_of(options),
          .chunk_sizes = options.chunk_sizes,
          .gpu0_bsz = options.gpu0_bsz,
          .on_oom = options.on_oom == "replan" ? parallel::OnOutOfMemory::replan
                                               : parallel::OnOutOfMemory::error,
          .accumulate = options.accumulate,
          .bitwise_leaves = options.bitwise_leaves,
          .backend = backend};
}

DType storage_dtype(const RunOptions& options) {
  return options.dtype == "bf16" ? DType::f32 : parse_dtype(options.dtype);
}

std::uint64_t seed_of(const RunOptions& options) {
  return options.seed.value_or(0);
}

std::unique_ptr<optim::Optimizer> make_optimizer(const RunOptions& options, nn::Module& module) {
  if (options.optimizer == "sgd") {
    return std::make_unique<optim::SGD>(
        module.named_parameters(),
        optim::SGDOptions{.lr = options.lr.value_or(0.05), .momentum = 0.9});
  }
  // The gradient of attention's key bias is zero but for rounding, which AdamW would turn into
  // steps with a smaller eps (docs/exactness.md).
  const double eps = options.model == "gpt" ? 1e-6 : 1e-8;
  return std::make_unique<optim::AdamW>(
      module.named_parameters(), optim::AdamWOptions{.lr = options.lr.value_or(1e-3), .eps = eps});
}

std::unique_ptr<optim::LRScheduler> make_schedule(const RunOptions& options,
                                                  optim::Optimizer& optimizer,
                                                  std::int64_t steps) {
  if (options.schedule == "constant" && options.warmup == 0) return nullptr;
  if (options.warmup >= steps) {
    throw UsageError(
        concat("--warmup ", options.warmup, " takes all of the run's ", steps, " steps"));
  }
  optim::Schedule rest = optim::LambdaLR{[](std::int64_t) { return 1.0; }};
  if (options.schedule == "cosine")
    rest = optim::CosineAnnealingLR{.t_max = steps - options.warmup};
  if (options.warmup == 0) return std::make_unique<optim::LRScheduler>(optimizer, rest);
  const optim::LinearLR first{.start_factor = 1 / static_cast<double>(options.warmup + 1),
                              .end_factor = 1,
                              .total_iters = options.warmup};
  return std::make_unique<optim::LRScheduler>(
      optimizer, optim::SequentialLR{.schedules = {first, rest}, .milestones = {options.warmup}});
}

datasets::LoaderOptions loader_options(const RunOptions& options,
                                       const datasets::Dataset& data,
                                       datasets::Split split,
                                       Device device) {
  const bool training = split == datasets::Split::train;
  return {.batch_size = options.batch,
          .sampler = training ? datasets::random_sampler(data.size(), seed_of(options))
                              : datasets::sequential_sampler(data.size()),
          .device = device};
}

}  // namespace tandem::cli
