// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Time of one training step: forward, cross entropy, backward, AdamW. The twin of
// bench/peers/pytorch_step.py and pytorch_ddp.py: same models, batch, data and JSON. --profile adds
// where the time goes, by op; of a GPU's ops it is the time to queue them.
#include <algorithm>
#include <chrono>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tandem/config.hpp"
#include "tandem/core/percentile.hpp"
#include "tandem/nn/models/cnn.hpp"
#include "tandem/nn/models/mlp.hpp"
#include "tandem/ops/loss.hpp"
#include "tandem/optim/adam.hpp"
#include "tandem/parallel/data_parallel.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/runtime/observer.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/factories.hpp"

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
  std::int64_t batch = 0;
  std::int64_t steps = 50;
  std::int64_t warmup = 10;
  bool profile = false;
  bool tf32 = false;
};

/// Of each step; and the largest peak of a device while they ran.
struct Measured {
  std::vector<double> ms;
  std::size_t peak = 0;
};

template <class M>
Measured run(M net,
             const Shape& sample,
             std::int64_t batch,
             const std::vector<Device>& devices,
             const Options& o) {
  optim::AdamW optimizer(net.named_parameters(), {.lr = 1e-3});
  parallel::DataParallel dp(net, {.devices = devices});
  Shape shape = sample;
  shape.insert(0, batch);
  const std::vector<Tensor> data{randn(shape), randint(0, 10, {batch})};
  const auto loss = [](M& m, const std::vector<Tensor>& part) {
    return cross_entropy_sum(m(part[0]), part[1]);
  };
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
  if (o.profile) profile.print(o.steps, bench::Roofs::of(devices.front(), threads_of(devices)));
  for (const Device d : devices)
    result.peak = std::max(result.peak, logical_device(d).memory_stats().peak);
  return result;
}

int main_(int argc, char** argv) {
  CLI::App app{"Times training steps on random data and prints JSON"};
  Options o;
  app.add_option("--model", o.model)->check(CLI::IsMember({"mlp", "cnn"}))->capture_default_str();
  app.add_option("--devices,--device",
                 o.devices,
                 "device list; cpu:1 is one device with all cores, cuda:0 a GPU")
      ->capture_default_str();
  app.add_option("--batch", o.batch, "rows over all devices (default: mlp 512, cnn 128)");
  app.add_option("--steps", o.steps)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--warmup", o.warmup)->check(CLI::NonNegativeNumber)->capture_default_str();
  app.add_flag("--profile", o.profile, "print time by op, which costs a little");
  app.add_flag("--tf32", o.tf32, "let a GPU round the factors of products to TF32");
  CLI11_PARSE(app, argc, argv);

  manual_seed(0);
  if (o.tf32) set_float32_matmul_precision(MatmulPrecision::high);
  const std::vector<Device> devices = configure_devices(o.devices);
  set_default_device(devices[0]);  // of the model and the batch
  const bool mlp = o.model == "mlp";
  const std::int64_t batch = o.batch > 0 ? o.batch : mlp ? 512 : 128;
  const auto [ms, peak] = mlp ? run(nn::models::Mlp(), {784}, batch, devices, o)
                              : run(nn::models::Cnn(), {3, 32, 32}, batch, devices, o);
  fmt::print(
      "{}\n",
      nlohmann::json{{"schema_version", 1},
                     {"program", std::string("tandem ") + version},
                     {"mode", devices.size() == 1 ? "single" : "server"},
                     {"model", o.model},
                     {"batch", batch},
                     {"devices", devices.size()},
                     {"device_list", o.devices},
                     {"tf32", o.tf32},
                     {"threads", core_count()},
                     {"optimizer", "adamw"},
                     {"steps", o.steps},
                     {"peak_mib", static_cast<double>(peak) / (1 << 20)},
                     {"step_ms", {{"p50", percentile(ms, 0.5)}, {"p90", percentile(ms, 0.9)}}}}
          .dump());
  return 0;
}

}  // namespace
}  // namespace tandem

int main(int argc, char** argv) {
  return tandem::main_(argc, argv);
}
