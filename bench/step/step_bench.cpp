// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Time of one training step: forward, cross entropy, backward, AdamW. The twin of
// bench/peers/pytorch_step.py and pytorch_ddp.py: same models, batch, data and JSON. --profile adds
// where the time goes, by op; --processes trains in several.
#include <algorithm>
#include <chrono>
#include <map>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tandem/config.hpp"
#include "tandem/core/percentile.hpp"
#include "tandem/nn/models/cnn.hpp"
#include "tandem/nn/models/gpt.hpp"
#include "tandem/nn/models/mlp.hpp"
#include "tandem/nn/models/resnet.hpp"
#include "tandem/nn/replicate.hpp"
#include "tandem/ops/autocast.hpp"
#include "tandem/ops/loss.hpp"
#include "tandem/optim/adam.hpp"
#include "tandem/parallel/data_parallel.hpp"
#include "tandem/parallel/distributed_data_parallel.hpp"
#include "tandem/parallel/fully_sharded_data_parallel.hpp"
#include "tandem/parallel/run_ranks.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/runtime/observer.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/factories.hpp"
#include "tandem/world/launcher.hpp"
#include "tandem/world/world.hpp"

#include "profile.hpp"

namespace tandem {
namespace {

using Clock = std::chrono::steady_clock;

/// Threads that a step's kernels have on each device.
int threads_of(const std::vector<Device>& devices) {
  return std::max(1, context().threads / static_cast<int>(devices.size()));
}

struct Options {
  std::string model = "mlp";
  std::string devices = "cpu:1";
  std::string mode = "sharded";
  std::string dtype = "f32";
  std::int64_t bitwise_leaves = 0;
  std::int64_t batch = 0;
  std::int64_t steps = 50;
  std::int64_t warmup = 10;
  int processes = 1;
  bool ranks = false;
  std::string strategy = {};  ///< of ranks; "": DistributedDataParallel
  std::string backend = "local";
  bool profile = false;
  bool tf32 = false;
  world::World* world = nullptr;  ///< null: one process
};

bool has_ranks(const Options& o) {
  return o.ranks || !o.strategy.empty();
}

/// The time of each step, and the largest peak of a device while they ran.
struct Measured {
  std::vector<double> ms;
  std::size_t peak = 0;
  std::vector<bench::OpCost> ops = {};  // where they are profiled
};

/// @param data  what goes in, and labels.
template <class M>
Measured run(M net,
             const std::vector<Tensor>& data,
             const std::vector<Device>& devices,
             const Options& o) {
  optim::AdamW optimizer(net.named_parameters(), {.lr = 1e-3});
  parallel::DataParallel dp(net,
                            {.devices = devices,
                             .mode = parallel::parse_mode(o.mode).value(),
                             .bitwise_leaves = o.bitwise_leaves,
                             .backend = comm::parse_backend(o.backend).value(),
                             .world = o.world});
  const auto loss = [](M& m, const std::vector<Tensor>& part) {
    return cross_entropy_sum(m(part[0]).flatten(0, -2), part[1].flatten());
  };
  const Autocast precision(parse_dtype(o.dtype));
  bench::Profile profile;
  std::unique_ptr<Subscription> subscription;
  Measured result;
  for (std::int64_t step = 0; step < o.warmup + o.steps; ++step) {
    if (step == o.warmup) {
      if (o.profile) subscription = std::make_unique<Subscription>(profile);
      for (const Device d : devices)
        logical_device(d).reset_peak();
    }
    const auto start = Clock::now();
    dp.step(data, loss, &optimizer);
    for (const Device d : devices)
      logical_device(d).stream().synchronize();
    const std::chrono::duration<double, std::milli> time = Clock::now() - start;
    if (step >= o.warmup) result.ms.push_back(time.count());
  }
  subscription.reset();
  for (const Device d : devices)
    result.peak = std::max(result.peak, logical_device(d).memory_stats().peak);
  if (o.profile) {
    const auto roofs = bench::Roofs::of(devices.front(), threads_of(devices), parse_dtype(o.dtype));
    result.ops = profile.take(o.steps, roofs);
    bench::print(result.ops, roofs);
  }
  return result;
}

/// Units are the transformer blocks, where there are some, else the direct parts.
parallel::FullyShardedDataParallelOptions sharding_of(const Options& o) {
  using enum parallel::ShardingStrategy;
  parallel::FullyShardedDataParallelOptions options;
  options.strategy = o.strategy == "full_shard"      ? full_shard
                     : o.strategy == "shard_grad_op" ? shard_grad_op
                                                     : no_shard;
  if (o.model.starts_with("gpt"))
    options.sharding.units = parallel::UnitPolicy::by_type<nn::TransformerBlock>();
  return options;
}

/// The same by a program on each device, which has a rank. @return  the first device's times
template <class M>
Measured run_ranks(M net,
                   const std::vector<Tensor>& data,
                   const std::vector<Device>& devices,
                   const Options& o) {
  Measured result;
  parallel::run_ranks(
      devices,
      [&](parallel::Rank& rank) {
        M own = nn::clone(net);
        own.to(rank.device());
        const Tensor x = data[0].to(rank.device()), labels = data[1].to(rank.device()).flatten();
        const auto train = [&](auto&& wrapper) {
          optim::AdamW optimizer(own.named_parameters(), {.lr = 1e-3});
          for (std::int64_t step = 0; step < o.warmup + o.steps; ++step) {
            const auto start = Clock::now();
            optimizer.zero_grad();
            cross_entropy(wrapper(x).flatten(0, -2), labels).backward();
            optimizer.step();
            rank.stream().synchronize();
            const std::chrono::duration<double, std::milli> time = Clock::now() - start;
            if (step >= o.warmup && rank.device() == devices.front())
              result.ms.push_back(time.count());
          }
        };
        if (o.strategy.empty())
          train(parallel::DistributedDataParallel(own, rank));
        else
          train(parallel::FullyShardedDataParallel(own, rank, sharding_of(o)));
      },
      {.backend = comm::parse_backend(o.backend).value(), .world = o.world});
  return result;
}

template <class M>
Measured run_program(M net,
                     const std::vector<Tensor>& data,
                     const std::vector<Device>& devices,
                     const Options& o) {
  return has_ranks(o) ? run_ranks(std::move(net), data, devices, o)
                      : run(std::move(net), data, devices, o);
}

std::int64_t default_batch(const std::string& model) {
  const std::map<std::string, std::int64_t> rows{
      {"mlp", 512}, {"cnn", 128}, {"gpt", 16}, {"resnet50", 32}, {"gpt2", 4}};
  return rows.at(model);
}

/// Without dropout: "gpt" is a small one of characters.
nn::models::GptOptions gpt_sizes(const std::string& model) {
  nn::models::GptOptions sizes = nn::models::gpt_options("gpt2");
  if (model == "gpt")
    sizes = {.layers = 4, .width = 256, .heads = 4, .context = 128, .vocabulary = 256};
  sizes.dropout = 0;
  return sizes;
}

Measured run_model(std::int64_t batch, const std::vector<Device>& devices, const Options& o) {
  if (o.model == "gpt" || o.model == "gpt2") {
    const nn::models::GptOptions sizes = gpt_sizes(o.model);
    const Shape shape{batch, sizes.context};
    const std::int64_t n = sizes.vocabulary;
    return run_program(
        nn::models::Gpt(sizes), {randint(0, n, shape), randint(0, n, shape)}, devices, o);
  }
  const Tensor labels = randint(0, o.model == "resnet50" ? 1000 : 10, {batch});
  if (o.model == "resnet50")
    return run_program(nn::models::resnet50(), {randn({batch, 3, 224, 224}), labels}, devices, o);
  if (o.model == "mlp")
    return run_program(nn::models::Mlp(), {randn({batch, 784}), labels}, devices, o);
  return run_program(nn::models::Cnn(), {randn({batch, 3, 32, 32}), labels}, devices, o);
}

std::vector<std::string> mode_names() {
  std::vector<std::string> names;
  for (const parallel::Mode mode : parallel::kModes)
    names.emplace_back(name(mode));
  return names;
}

void add_options(CLI::App& app, Options& o) {
  app.add_option("--model", o.model)
      ->check(CLI::IsMember({"mlp", "cnn", "gpt", "resnet50", "gpt2"}))
      ->capture_default_str();
  app.add_option("--devices,--device",
                 o.devices,
                 "device list; cpu:1 is one device with all cores, cuda:0 a GPU")
      ->capture_default_str();
  app.add_option("--mode", o.mode, "mode of DataParallel, if there are several devices")
      ->check(CLI::IsMember(mode_names()))
      ->capture_default_str();
  app.add_option("--bitwise-leaves", o.bitwise_leaves, "leaves of the bitwise mode; 0: off")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--batch",
                 o.batch,
                 "rows over all devices of all processes (default: mlp 512, cnn 128, gpt 16, "
                 "resnet50 32, gpt2 4)");
  app.add_option("--dtype", o.dtype, "type of products; parameters are f32 (Autocast)")
      ->check(CLI::IsMember({"f32", "bf16", "f16"}))
      ->capture_default_str();
  app.add_option("--steps", o.steps)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--warmup", o.warmup)->check(CLI::NonNegativeNumber)->capture_default_str();
  app.add_option("--processes", o.processes, "number of processes, each with the devices")
      ->check(CLI::PositiveNumber);
  app.add_option("--backend", o.backend, "what carries data between processes")
      ->check(CLI::IsMember({"local", "gloo", "mpi"}));
  app.add_flag("--ranks", o.ranks, "DistributedDataParallel, a rank on each device");
  app.add_option("--strategy",
                 o.strategy,
                 "FullyShardedDataParallel by this strategy, a rank on each device")
      ->check(CLI::IsMember({"full_shard", "shard_grad_op", "no_shard"}));
  app.add_flag("--profile", o.profile, "also measure the time of each op, which costs a little");
  app.add_flag("--tf32", o.tf32, "let a GPU round the factors of products to TF32");
}

int main_(int argc, char** argv) {
  CLI::App app{"Times training steps on random data and prints JSON"};
  Options o;
  add_options(app, o);
  CLI11_PARSE(app, argc, argv);

  if (const auto status = world::spawn({.processes = o.processes})) return *status;
  world::World world = world::World::from_environment();
  if (world.size() > 1) o.world = &world;
  manual_seed(0);
  if (o.tf32) set_float32_matmul_precision(MatmulPrecision::high);
  const std::vector<Device> devices = configure_devices(o.devices);
  set_default_device(devices[0]);  // of the model and the batch
  const std::int64_t batch = o.batch > 0 ? o.batch : default_batch(o.model);
  const std::int64_t parts =
      world.size() * (has_ranks(o) ? static_cast<std::int64_t>(devices.size()) : 1);
  const auto [ms, peak, ops] = run_model(batch / parts, devices, o);
  if (world.rank() > 0) return 0;
  nlohmann::json result{{"schema_version", 1},
                        {"program", std::string("tandem ") + version},
                        {"mode",
                         !o.strategy.empty()                         ? o.strategy
                         : o.ranks                                   ? "ranks"
                         : devices.size() == 1 && o.world == nullptr ? "single"
                                                                     : o.mode},
                        {"processes", world.size()},
                        {"model", o.model},
                        {"batch", batch},
                        {"devices", devices.size()},
                        {"device_list", o.devices},
                        {"dtype", o.dtype},
                        {"tf32", o.tf32},
                        {"threads", core_count()},
                        {"optimizer", "adamw"},
                        {"steps", o.steps},
                        {"peak_mib", static_cast<double>(peak) / (1 << 20)},
                        {"step_ms", {{"p50", percentile(ms, 0.5)}, {"p90", percentile(ms, 0.9)}}}};
  for (const bench::OpCost& op : ops)
    result["ops"].push_back({{"name", op.name},
                             {"calls", op.calls},
                             {"ms", op.ms},
                             {"share", op.share},
                             {"of_roof", op.of_roof}});
  fmt::print("{}\n", result.dump());
  return 0;
}

}  // namespace
}  // namespace tandem

int main(int argc, char** argv) {
  return tandem::main_(argc, argv);
}
