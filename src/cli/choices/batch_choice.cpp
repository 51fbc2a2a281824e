// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/choices/batch_choice.hpp"

#include <CLI/CLI.hpp>

#include "tandem/core/check.hpp"

#include "cli/subject.hpp"
#include "cli/usage_error.hpp"
#include "cli/validators.hpp"

namespace tandem::cli {
namespace {

using tandem::detail::concat;

/// @throws UsageError  there is not one size for each device, or they do not add up to the batch.
void check_sizes(const std::vector<std::int64_t>& sizes, std::size_t devices, std::int64_t rows) {
  if (sizes.size() != devices) {
    throw UsageError(concat("--chunk-sizes gives ",
                            sizes.size(),
                            " sizes for ",
                            devices,
                            " devices; give one for each"));
  }
  std::int64_t total = 0;
  for (const std::int64_t size : sizes)
    total = size > INT64_MAX - total ? INT64_MAX : total + size;
  if (total != rows) {
    throw UsageError(
        concat("--chunk-sizes add up to ", total, ", but --batch is ", rows, "; make them equal"));
  }
}

void add_chunk_flags(CLI::App& app, BatchChoice& o) {
  app.add_option(
         "--chunks",
         o.chunks,
         "how a batch is cut: into even parts (even), or by measuring a few steps without effect, "
         "for the smallest memory peak (planned) or the shortest time (planned-time)")
      ->check(CLI::IsMember({"even", "planned", "planned-time"}))
      ->capture_default_str();
  app.add_option("--on-oom",
                 o.on_oom,
                 "what a step does if a device runs out of memory: stop with an error (error), or "
                 "divide the rows differently and continue (replan)")
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

}  // namespace

void BatchChoice::add_flags(CLI::App& app) {
  begin_subject(app, Subject::batch);
  app.add_option(
         "--batch",
         rows,
         "rows of a batch, over all devices (default 256; 32 for models of ImageNet's images, 16 "
         "windows for those of text)")
      ->check(at_least(1));
  add_chunk_flags(app, *this);
  app.add_option("--accumulate",
                 accumulate,
                 "number of micro-batches that run one after the other for each batch: the same "
                 "update in less memory")
      ->check(at_least(1))
      ->capture_default_str();
  app.add_option(
         "--bitwise-leaves",
         bitwise_leaves,
         "number of leaves whose gradients are added up in a fixed order: gives the same bits on "
         "any number of devices, but takes longer; not with batch norm (0: off)")
      ->check(at_least(0))
      ->capture_default_str();
}

std::optional<parallel::ChunkPolicy> BatchChoice::policy() const {
  using enum parallel::PlanGoal;
  if (chunks == "planned") return parallel::ChunkPolicy::planned(least_peak);
  if (chunks == "planned-time") return parallel::ChunkPolicy::planned(least_time);
  return std::nullopt;
}

parallel::OnOutOfMemory BatchChoice::on_out_of_memory() const {
  using enum parallel::OnOutOfMemory;
  return on_oom == "replan" ? replan : error;
}

std::string BatchChoice::option_of_step() const {
  if (accumulate > 1) return "--accumulate";
  if (bitwise_leaves > 0) return "--bitwise-leaves";
  if (is_planned()) return "--chunks " + chunks;
  return on_oom == "replan" ? "--on-oom replan" : "";
}

void BatchChoice::check_simulated() const {
  if (chunks != "planned-time") return;
  throw UsageError(
      "--chunks planned-time would divide the rows by this machine's clock, which does not know "
      "the times of a simulated machine or of shape-only devices; give --chunks planned or "
      "--chunk-sizes, or leave it out for even chunks");
}

void BatchChoice::check(std::size_t devices) const {
  if (bitwise_leaves > 0 && accumulate > 1)
    throw UsageError("--bitwise-leaves and --accumulate both cut the batch; give one of them");
  if (gpu0_bsz && !chunk_sizes.empty())
    throw UsageError("--gpu0-bsz and --chunk-sizes both say how a batch is cut; give one of them");
  if (is_planned() && (gpu0_bsz || !chunk_sizes.empty())) {
    throw UsageError(
        concat("--chunks ", chunks, " chooses the rows; leave out --gpu0-bsz and --chunk-sizes"));
  }
  if (!chunk_sizes.empty()) check_sizes(chunk_sizes, devices, rows);
}

}  // namespace tandem::cli
