// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tandem/core/dtype.hpp"

namespace tandem::cli {

/// Sizes of the model of a text.
struct GptSizes {
  std::int64_t layers = 4;
  std::int64_t width = 128;
  std::int64_t heads = 4;
  std::int64_t context = 128;
  double dropout = 0.1;
  std::string given;  // the last option of these that was given; empty: none
};

/// What generate was asked for.
struct GenerateRequest {
  std::string checkpoint;
  std::optional<std::string> prompt;
  std::int64_t tokens = 500;
  double temperature = 0.8;
  std::optional<std::int64_t> top_k;
  std::uint64_t seed = 0;
  bool json = false;
};

/// What collectives was asked for; sizes as they were written.
struct CollectivesRequest {
  std::string op = "all_reduce";
  std::string devices;  // empty: the default list
  std::string min_bytes = "4K";
  std::string max_bytes = "16M";
  std::int64_t factor = 4;
  std::int64_t iterations = 50;
  std::int64_t warmup = 10;
  std::string dtype = "f32";
  std::string algorithm = "direct";
  std::string segment = "128K";
  int group = 0;
  std::string backend = "local";
  bool json = false;
  bool quiet = false;
};

/// What train, verify and compare have in common, as the command line gave it.
struct RunOptions {
  std::string model;  // empty: by the data
  std::string data;   // empty: by the model
  std::string data_dir;
  std::string text;     // a file; empty: tandem's own
  std::string devices;  // empty: the default list
  std::string mode = "dp-sharded";
  std::string backend = "local";
  std::optional<bool> loss_in_replica;  // none: by the mode
  std::string output_device;            // empty: the first
  std::int64_t batch = 0;               // 0: by the data
  std::int64_t accumulate = 1;
  std::int64_t bitwise_leaves = 0;
  bool recompute = false;
  std::optional<std::int64_t> gpu0_bsz;
  std::string chunks = "even";
  std::string on_oom = "error";
  std::vector<std::int64_t> chunk_sizes;
  std::int64_t epochs = 2;
  std::optional<std::int64_t> steps;
  std::string optimizer = "adamw";
  std::optional<double> lr;
  std::string schedule = "constant";
  std::int64_t warmup = 0;
  std::string dtype = "f32";
  std::optional<std::uint64_t> seed;  // none: 0, or the checkpoint's
  GptSizes gpt;
  std::string checkpoint;
  std::optional<std::int64_t> save_every;
  std::string metrics;      // .csv or .jsonl; empty: none
  std::string tensorboard;  // a directory; empty: none
  bool nvtx = false;
  bool resume = false;
  std::string json;
  bool quiet = false;
};

/// Which devices are listed.
struct DevicesRequest {
  std::string devices;  // empty: the default list
  bool json = false;
};

/// What is compared, and in which modes; the first is what the others are held against.
struct CompareRequest {
  CompareRequest() { run.optimizer = "sgd"; }
  RunOptions run;
  std::vector<std::string> modes{"single", "dp-classic", "dp-server", "dp-sharded", "ddp"};
  bool details = false;
};

/// What is compared, and the page that shows it.
struct ReportRequest {
  CompareRequest compared;
  std::string output = "report.html";
};

/// What is traced, and where to.
struct TraceRequest {
  RunOptions run;
  std::string output = "trace.json";
};

/// A wrong command line: one sentence, exit 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace tandem::cli
