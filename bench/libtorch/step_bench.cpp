// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Time of one training step of a PyTorch module: forward, cross entropy, backward, AdamW. The twin
// of bench/peers/pytorch_step.py and pytorch_ddp.py: same models, batch and JSON. --peaks instead
// prints the largest memory of each device.
#include <chrono>
#include <iostream>
#include <map>
#include <optional>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "tandem/config.hpp"
#include "tandem/core/percentile.hpp"
#include "tandem/libtorch/data_parallel.hpp"
#include "tandem/libtorch/optimizer.hpp"
#include "tandem/profile/step_record.hpp"
#include "tandem/runtime/runtime.hpp"

#include "peer_models.hpp"

namespace tandem::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::string model = "mlp";
  std::string devices = "cpu:2";
  std::string mode = "sharded";
  std::string chunks = "even";
  std::string layout = "contiguous";
  std::int64_t batch = 0;
  std::int64_t steps = 50;
  std::int64_t warmup = 10;
  bool outputs = false;
  bool profile = false;
};

struct Batch {
  at::Tensor x, y;
  TANDEM_FIELDS(x, y)
};

struct Measured {
  std::vector<double> ms;
  std::vector<std::size_t> peaks = {};     // of each device
  std::map<std::string, double> ops = {};  // ms of each in a step, all devices together
};

/// The devices' time in each op of a step, with the waits of collectives.
std::map<std::string, double> op_times(const profile::StepRecord& record, std::int64_t steps) {
  std::map<std::string, double> ms;
  for (const profile::WorkSpan& span : record.work) {
    const std::chrono::duration<double, std::milli> time = span.end - span.begin;
    ms[span.name] += time.count() / static_cast<double>(steps);
  }
  return ms;
}

at::Tensor loss_of(const at::Tensor& outputs, const at::Tensor& labels) {
  return torch::cross_entropy_loss(outputs.flatten(0, -2), labels.flatten());
}

parallel::DataParallelOptions options_of(const Options& o) {
  parallel::DataParallelOptions options{.devices = configure_devices(o.devices),
                                        .mode = parallel::parse_mode(o.mode).value()};
  if (o.chunks == "planned") options.chunks = parallel::ChunkPolicy::planned();
  return options;
}

/// @param make  makes a holder of the module.
template <class Make>
Measured run(const Make& make, Batch batch, const Options& o) {
  auto net = make();
  const auto format =
      o.layout == "channels_last" ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous;
  if (batch.x.dim() == 4) {
    batch.x = batch.x.contiguous(format);
    const torch::NoGradGuard off;
    for (at::Tensor& p : net->parameters())
      if (p.dim() == 4) p.set_data(p.contiguous(format));
  }
  libtorch::Optimizer<torch::optim::AdamW> optimizer(net->parameters(),
                                                     torch::optim::AdamWOptions(1e-3));
  using Module = std::remove_reference_t<decltype(*net)>;
  libtorch::DataParallel<Module> dp(net, options_of(o), {.make = [make] { return make().ptr(); }});
  const auto loss = [](auto& m, const Batch& part) { return loss_of(m.forward(part.x), part.y); };
  Measured result;
  profile::StepRecorder recorder;
  std::optional<Subscription> recording;
  for (std::int64_t step = 0; step < o.warmup + o.steps; ++step) {
    if (step == o.warmup) {
      for (const Device d : dp.devices())
        logical_device(d).reset_peak();
      if (o.profile) recording.emplace(recorder);
    }
    const auto start = Clock::now();
    if (o.outputs) {
      optimizer.zero_grad();
      loss_of(dp(batch.x), batch.y).backward();
      optimizer.step();
    } else {
      dp.step(batch, loss, optimizer);
    }
    const std::chrono::duration<double, std::milli> time = Clock::now() - start;
    if (step >= o.warmup) result.ms.push_back(time.count());
  }
  if (recording) {
    recording.reset();
    result.ops = op_times(recorder.take(), o.steps);
  }
  for (const Device d : dp.devices())
    result.peaks.push_back(logical_device(d).memory_stats().peak);
  return result;
}

Measured run_model(std::int64_t batch, const Options& o) {
  const auto labels = torch::randint(10, {batch});
  if (o.model == "mlp") return run([] { return Mlp(); }, {torch::randn({batch, 784}), labels}, o);
  if (o.model == "cnn")
    return run([] { return Cnn(); }, {torch::randn({batch, 3, 32, 32}), labels}, o);
  // A language model whose head has most of the memory.
  const GptSizes sizes = o.model == "gpt" ? GptSizes{} : GptSizes{.layers = 2, .vocabulary = 16384};
  const auto tokens = torch::randint(sizes.vocabulary, {2, batch, sizes.length});
  return run([sizes] { return Gpt(sizes); }, {tokens[0], tokens[1]}, o);
}

void add_options(CLI::App& app, Options& o) {
  app.add_option("--model", o.model, "lm: a gpt with a large vocabulary")
      ->check(CLI::IsMember({"mlp", "cnn", "gpt", "lm"}))
      ->capture_default_str();
  app.add_option("--devices", o.devices, "list of virtual devices")->capture_default_str();
  app.add_option("--mode", o.mode)
      ->check([](const std::string& mode) {  // the wrapper says which it refuses
        return parallel::parse_mode(mode) ? "" : mode + " is not a mode of DataParallel";
      })
      ->capture_default_str();
  app.add_option("--chunks", o.chunks, "how batches are divided")
      ->check(CLI::IsMember({"even", "planned"}))
      ->capture_default_str();
  app.add_option("--layout", o.layout, "of 4-D tensors")
      ->check(CLI::IsMember({"contiguous", "channels_last"}))
      ->capture_default_str();
  app.add_option(
      "--batch", o.batch, "rows over all devices (default: mlp 512, cnn 128, gpt 16, lm 16)");
  app.add_option("--steps", o.steps)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--warmup", o.warmup)->check(CLI::NonNegativeNumber)->capture_default_str();
  app.add_flag(
      "--outputs", o.outputs, "the loss on the gathered outputs: loss(dp(x), y).backward()");
  app.add_flag("--profile", o.profile, "also measure the time of each op, which costs a little");
}

int main_(int argc, char** argv) {
  CLI::App app{"Times training steps of PyTorch modules on random data and prints JSON"};
  Options o;
  add_options(app, o);
  CLI11_PARSE(app, argc, argv);

  torch::manual_seed(0);
  const std::map<std::string, std::int64_t> rows{
      {"mlp", 512}, {"cnn", 128}, {"gpt", 16}, {"lm", 16}};
  const std::int64_t batch = o.batch > 0 ? o.batch : rows.at(o.model);
  const auto [ms, peaks, ops] = run_model(batch, o);
  std::vector<double> peaks_mib;
  for (const std::size_t peak : peaks)
    peaks_mib.push_back(static_cast<double>(peak) / (1 << 20));
  const nlohmann::json result{
      {"schema_version", 1},
      {"program", std::string("tandem ") + version + ", pytorch " TORCH_VERSION},
      {"mode", o.mode},
      {"model", o.model},
      {"batch", batch},
      {"device_list", o.devices},
      {"chunks", o.chunks},
      {"layout", o.layout},
      {"loss", o.outputs ? "on outputs" : "in replicas"},
      {"threads", core_count()},
      {"optimizer", "adamw"},
      {"steps", o.steps},
      {"peaks_mib", peaks_mib},
      {"ops_ms", ops},
      {"step_ms", {{"p50", percentile(ms, 0.5)}, {"p90", percentile(ms, 0.9)}}}};
  std::cout << result.dump() << std::endl;
  return 0;
}

}  // namespace
}  // namespace tandem::bench

int main(int argc, char** argv) {
  try {
    return tandem::bench::main_(argc, argv);
  } catch (const std::exception& e) {
    std::cerr << "libtorch_step_bench: " << e.what() << '\n';
    return 1;
  }
}
