// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/flags.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "tandem/comm/algorithms.hpp"

#include "cli/output_files.hpp"
#include "cli/validators.hpp"

namespace tandem::cli {
namespace {

constexpr const char* kDevicesHelp =
    "device list: cpu:N is N virtual devices of this machine, @SIZE limits each (cpu:4@512MiB), "
    "parts are joined by "
    "commas; everywhere else cpu:1 names one device. Default: TANDEM_DEVICES, else one per core";

/// The name says how the numbers are written; a device or a pipe takes either form.
CLI::Validator metrics_file() {
  const auto check = [](std::string& path) -> std::string {
    if (path.empty()) return {};  // see not_empty
    const bool known = path.ends_with(".csv") || path.ends_with(".jsonl") || is_stream(path);
    return known ? "" : fmt::format("expected FILE.csv or FILE.jsonl, not '{}'", path);
  };
  return {check, ""};
}

/// A file of results, or - for stdout.
CLI::Option* add_output_option(CLI::App& app,
                               const char* name,
                               std::string& path,
                               const char* what) {
  const auto same = [](std::string& text) -> std::string {
    if (text == "/dev/stdout") text = "-";
    return {};
  };
  return app.add_option(name, path, what)->transform(CLI::Validator(same, ""));
}

const std::vector<std::string> kModes = CompareRequest().modes;

void add_mode_option(CLI::App& app, RunOptions& o) {
  app.add_option(
         "--mode",
         o.mode,
         "who updates what: the first device alone (single); DataParallel as PyTorch's is "
         "(dp-classic), with all updates on the first device (dp-server), or each device its "
         "share (dp-sharded); DistributedDataParallel, each device its copy (ddp)")
      ->check(CLI::IsMember(kModes))
      ->capture_default_str();
}

void add_backend_option(CLI::App& app, std::string& backend) {
  app.add_option("--backend",
                 backend,
                 "what moves data among devices: tandem's own copies and kernels (local), or NCCL "
                 "among GPUs (nccl)")
      ->check(CLI::IsMember({"local", "nccl"}))
      ->capture_default_str();
}

void add_batch_options(CLI::App& app, RunOptions& o) {
  app.add_option("--devices", o.devices, kDevicesHelp);
  add_backend_option(app, o.backend);
  app.add_flag_function(
         "--loss-in-replica,!--no-loss-in-replica",
         [&o](std::int64_t given) {
           if (given == 0)
             throw CLI::ValidationError("--loss-in-replica",
                                        "stands beside --no-loss-in-replica; give one of them");
           o.loss_in_replica = given > 0;
         },
         "the loss on each device, of its own rows; else of the outputs gathered on the output "
         "device (default: yes, but for dp-classic)")
      ->disable_flag_override();
  app.add_option(
      "--output-device", o.output_device, "where outputs are gathered (default: the first device)");
  app.add_option("--batch",
                 o.batch,
                 "rows of a batch, over all devices (default 256; 16 windows of a text)")
      ->check(at_least(1));
  app.add_option(
         "--chunks",
         o.chunks,
         "how a batch is cut: in even parts, or by what a few steps without effect show: for "
         "the least largest peak (planned), or the least time (planned-time)")
      ->check(CLI::IsMember({"even", "planned", "planned-time"}))
      ->capture_default_str();
  app.add_option("--on-oom",
                 o.on_oom,
                 "what a step does where a device is out of memory: stop with an error, or go on "
                 "with other rows for the devices (replan)")
      ->check(CLI::IsMember({"error", "replan"}))
      ->capture_default_str();
  app.add_option("--gpu0-bsz", o.gpu0_bsz, "rows of the first device; the others share the rest")
      ->check(at_least(0));
  app.add_option_function<std::string>(
         "--chunk-sizes",
         [&o](const std::string& list) { o.chunk_sizes = split_numbers(list); },
         "rows of each device, joined by commas; they add up to --batch")
      ->check(list_of(at_least(0)));
}

/// How a step goes about a batch.
void add_step_options(CLI::App& app, RunOptions& o) {
  app.add_option("--accumulate",
                 o.accumulate,
                 "parts that a batch is cut into, one after the other: the same update in less "
                 "memory")
      ->check(at_least(1))
      ->capture_default_str();
  app.add_option("--bitwise-leaves",
                 o.bitwise_leaves,
                 "parts whose gradients are added up in a fixed order: the same bits on any number "
                 "of devices, for more time; not with batch norm (0: off)")
      ->check(at_least(0))
      ->capture_default_str();
  app.add_flag(
      "--recompute",
      o.recompute,
      "compute the activations of gpt's or resnet18's blocks again in backward: less memory");
}

void add_run_options(CLI::App& app, RunOptions& o) {
  app.add_option("--model", o.model, "model to train (default cnn-small; gpt for a text)")
      ->check(CLI::IsMember({"cnn-small", "cnn", "mlp", "resnet18", "gpt"}));
  app.add_option("--data",
                 o.data,
                 "data set (default fashion-mnist; text for gpt); cifar10 reads its binary files "
                 "from --data-dir")
      ->check(CLI::IsMember({"fashion-mnist", "digits", "cifar10", "text"}));
  app.add_option("--data-dir", o.data_dir, "directory of the data set's files");
  app.add_option(
      "--text", o.text, "file of UTF-8 for --data text (default: tales that come along)");
  add_batch_options(app, o);
  app.add_option("--optimizer", o.optimizer, "adamw, or sgd with momentum 0.9")
      ->check(CLI::IsMember({"adamw", "sgd"}))
      ->capture_default_str();
  app.add_option("--lr", o.lr, "learning rate (default 0.001 for adamw, 0.05 for sgd)")
      ->check(above_zero());
  app.add_option(
         "--dtype", o.dtype, "of parameters and arithmetic; bf16: of products, the rest f32")
      ->check(CLI::IsMember({"f32", "f64", "bf16"}))
      ->capture_default_str();
  app.add_option("--seed", o.seed, "of weights, shuffling and dropout (default 0)")
      ->check(seed_number());
  app.add_flag("--quiet", o.quiet, "no summary and no progress");
}

void add_gpt_options(CLI::App& app, GptSizes& o) {
  const auto add_size = [&](const char* name, std::int64_t& size, const char* what) {
    app.add_option(name, size, what)
        ->check(at_least(1))
        ->each([&o, name](const std::string&) { o.given = name; })
        ->capture_default_str();
  };
  add_size("--layers", o.layers, "blocks of gpt");
  add_size("--width", o.width, "of gpt's blocks");
  add_size("--heads", o.heads, "of gpt's attention; they divide its width");
  add_size("--context", o.context, "characters that gpt sees");
  app.add_option("--dropout", o.dropout, "of gpt")
      ->each([&o](const std::string&) { o.given = "--dropout"; })
      ->check(within(0, 0.99))
      ->capture_default_str();
}

/// A run of some steps in one mode.
void add_trial_options(CLI::App& app, RunOptions& o) {
  add_mode_option(app, o);
  add_run_options(app, o);
  add_gpt_options(app, o.gpt);
  add_step_options(app, o);
}

}  // namespace

void add_train_options(CLI::App& app, RunOptions& o) {
  add_mode_option(app, o);
  add_run_options(app, o);
  add_gpt_options(app, o.gpt);
  app.add_option("--epochs", o.epochs, "passes over the data")
      ->check(at_least(1))
      ->capture_default_str();
  app.add_option("--steps", o.steps, "end after so many updates")->check(at_least(1));
  add_step_options(app, o);
  app.add_option("--schedule", o.schedule, "of the learning rate")
      ->check(CLI::IsMember({"constant", "cosine"}))
      ->capture_default_str();
  app.add_option("--warmup", o.warmup, "steps in which the learning rate grows to its value")
      ->check(at_least(0))
      ->capture_default_str();
  auto* checkpoint =
      app.add_option("--checkpoint",
                     o.checkpoint,
                     "file that the run is saved to after each epoch and at the end");
  app.add_option("--save-every", o.save_every, "steps after which the checkpoint is saved too")
      ->check(at_least(1))
      ->needs(checkpoint);
  app.add_option("--metrics",
                 o.metrics,
                 "write losses, times and peaks to this file as they come: FILE.csv or FILE.jsonl")
      ->check(metrics_file());
  app.add_option(
      "--tensorboard", o.tensorboard, "write the same for TensorBoard, in this directory");
  app.add_flag(
      "--nvtx",
      o.nvtx,
      "show each piece of work as a range in Nsight Systems: nsys profile tandem train ...");
  app.add_flag("--resume", o.resume, "go on from the checkpoint, with its seed and lr")
      ->needs(checkpoint);
  add_output_option(app, "--json", o.json, "write the results as JSON to this file; - for stdout");
}

namespace {

void add_modes_options(CLI::App& app, CompareRequest& o) {
  app.add_option_function<std::string>(
         "--modes",
         [&o](const std::string& list) { o.modes = split_list(list); },
         "modes to compare, joined by commas; with the first one's weights the others' are "
         "compared")
      ->check(list_of(CLI::IsMember(kModes)))
      ->default_str(CLI::detail::join(kModes, ","));
  add_run_options(app, o.run);
  add_gpt_options(app, o.run.gpt);
  add_step_options(app, o.run);
  app.add_option("--steps", o.run.steps, "updates in each mode (default 20)")->check(at_least(1));
  add_output_option(
      app, "--json", o.run.json, "write the results as JSON to this file; - for stdout");
}

}  // namespace

void add_compare_options(CLI::App& app, CompareRequest& o) {
  add_modes_options(app, o);
  app.add_flag("--details",
               o.details,
               "also memory by cause, time by phase and bytes by link, of a few more steps; --json "
               "has them always");
}

void add_report_options(CLI::App& app, ReportRequest& o) {
  add_modes_options(app, o.compared);
  add_output_option(app, "--output", o.output, "file of the page; - for stdout")
      ->capture_default_str();
}

void add_explain_options(CLI::App& app, RunOptions& o) {
  app.add_option("--model", o.model, "model that takes the step (default cnn-small)")
      ->check(CLI::IsMember({"cnn-small", "cnn", "mlp", "resnet18", "gpt"}));
  add_mode_option(app, o);
  add_batch_options(app, o);
  app.add_option("--accumulate", o.accumulate, "parts that the batch is cut into")
      ->check(at_least(1))
      ->capture_default_str();
  add_gpt_options(app, o.gpt);
  app.add_flag_callback(
      "--json", [&o] { o.json = "-"; }, "as one JSON object");
}

void add_generate_options(CLI::App& app, GenerateRequest& o) {
  app.add_option("--checkpoint", o.checkpoint, "of a model trained by train --data text")
      ->required();
  app.add_option("--prompt", o.prompt, "text to go on from");
  app.add_option("--tokens", o.tokens, "characters to write")
      ->check(at_least(0))
      ->capture_default_str();
  app.add_option("--temperature", o.temperature, "0 always takes the likeliest, 1 draws as trained")
      ->check(zero_or_more())
      ->capture_default_str();
  app.add_option("--top-k", o.top_k, "draw among so many of the likeliest (default all)")
      ->check(at_least(1));
  app.add_option("--seed", o.seed, "of what is drawn")->check(seed_number())->capture_default_str();
  app.add_flag("--json", o.json, "as one JSON object");
}

void add_verify_options(CLI::App& app, RunOptions& o) {
  add_mode_option(app, o);
  add_run_options(app, o);
  add_gpt_options(app, o.gpt);
  app.add_option("--steps", o.steps, "updates of each (default 20)")->check(at_least(1));
  add_output_option(app, "--json", o.json, "- for JSON on stdout")->check(CLI::IsMember({"-"}));
}

void add_devices_options(CLI::App& app, DevicesRequest& o) {
  app.add_option("--devices", o.devices, kDevicesHelp);
  app.add_flag("--json", o.json, "as one JSON object");
}

void add_memory_options(CLI::App& app, RunOptions& o) {
  add_trial_options(app, o);
  app.add_option("--steps", o.steps, "steps that are taken and watched (default 3)")
      ->check(at_least(1));
  add_output_option(app, "--json", o.json, "write the figures as JSON to this file; - for stdout");
}

void add_largest_batch_options(CLI::App& app, RunOptions& o) {
  add_trial_options(app, o);
  add_output_option(app, "--json", o.json, "write the figures as JSON to this file; - for stdout");
}

void add_trace_options(CLI::App& app, TraceRequest& o) {
  add_trial_options(app, o.run);
  app.add_option("--steps", o.run.steps, "steps that are traced, after two others (default 3)")
      ->check(at_least(1));
  add_output_option(app, "--output", o.output, "file of the trace, for ui.perfetto.dev")
      ->capture_default_str();
}

void add_collectives_options(CLI::App& app, CollectivesRequest& o) {
  std::vector<std::string> algorithms;
  for (const comm::Algorithm* a : comm::algorithms())
    algorithms.emplace_back(a->name());
  app.add_option("--op", o.op, "collective to time")
      ->check(CLI::IsMember({"all_reduce", "broadcast", "reduce", "all_gather", "reduce_scatter"}))
      ->capture_default_str();
  app.add_option("--devices", o.devices, kDevicesHelp);
  app.add_option("-b,--min-bytes", o.min_bytes, "smallest size, like 4K or 4KiB")
      ->capture_default_str();
  app.add_option("-e,--max-bytes", o.max_bytes, "largest size")->capture_default_str();
  app.add_option("-f,--factor", o.factor, "from one size to the next")
      ->check(at_least(2))
      ->capture_default_str();
  app.add_option("--iterations", o.iterations, "timed calls of each size")
      ->check(at_least(1))
      ->capture_default_str();
  app.add_option("--warmup", o.warmup, "calls before them")
      ->check(at_least(0))
      ->capture_default_str();
  app.add_option("--dtype", o.dtype, "of the elements")
      ->check(CLI::IsMember({"f32", "f64", "bf16", "f16", "i32", "i64", "u8"}))
      ->capture_default_str();
  app.add_option("--algorithm", o.algorithm, "docs/algorithms.md says what each is for")
      ->check(CLI::IsMember(algorithms))
      ->capture_default_str();
  app.add_option("--segment", o.segment, "of an algorithm with segments, like 128K or 128KiB")
      ->capture_default_str();
  app.add_option("--group",
                 o.group,
                 "ranks of a group of hierarchical_ring, or of a row of torus_2d (0: the algorithm "
                 "chooses)")
      ->check(at_least(0))
      ->capture_default_str();
  add_backend_option(app, o.backend);
  app.add_flag("--json", o.json, "as one JSON object");
  app.add_flag("--quiet", o.quiet, "no progress");
}

}  // namespace tandem::cli
