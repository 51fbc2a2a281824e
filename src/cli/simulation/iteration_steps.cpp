// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/simulation/iteration_steps.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>

#include <fmt/format.h>

#include "tandem/core/error.hpp"

#include "cli/models.hpp"
#include "cli/simulation/recorded_step.hpp"
#include "cli/usage_error.hpp"

namespace tandem::cli {
namespace {

using sim::IterationRow;
using sim::IterationTable;

constexpr std::array kLossPlaces{"replica", "output_device", "replica_and_outputs"};

/// Refuses a cell that is none of `names`.
template <class Names>
void check_name(const IterationTable& table,
                const IterationRow& row,
                const char* column,
                const std::string& given,
                const Names& names) {
  if (std::ranges::find(names, given) != names.end()) return;
  sim::refuse_cell(
      table, row, column, fmt::format("there is no '{}'; give {}", given, fmt::join(names, ", ")));
}

void check_row(const IterationTable& table, const IterationRow& row, const sim::Cluster& cluster) {
  check_name(table, row, "model", row.model, model_names());
  check_name(table, row, "mode", mode_option(row.mode), mode_names());
  check_name(table, row, "dtype", row.dtype, number_names());
  check_name(table, row, "optimizer", row.optimizer, optimizer_names());
  if (!row.loss.empty()) check_name(table, row, "loss", row.loss, kLossPlaces);
  if (row.gpus > cluster.gpu_count())
    sim::refuse_cell(table,
                     row,
                     "gpus",
                     fmt::format("{}; {} has {}", row.gpus, cluster.name, cluster.gpu_count()));
  if (row.mode == kSingleDevice && row.gpus != 1)
    sim::refuse_cell(
        table, row, "gpus", fmt::format("{}; mode single is that of one GPU", row.gpus));
  const bool reads_text = model_of(row.model).reads_text;
  if (reads_text != (row.context > 0))
    sim::refuse_cell(table,
                     row,
                     "context",
                     reads_text
                         ? fmt::format("0; {} reads a text: give the tokens of a row", row.model)
                         : fmt::format("{}; {} reads images: give 0", row.context, row.model));
}

StepSetup setup_of(const IterationRow& row) {
  StepSetup setup;
  TaskOptions& task = setup.task;
  task.model.name = row.model;
  if (row.context > 0) {
    task.model.gpt.length = row.context;
    task.model.has_length = true;
  }
  if (model_of(row.model).has_batch_norm)  // PyTorch's, without SyncBatchNorm
    task.model.batch_norm = BatchNormSync::per_replica;
  task.mode.name = mode_option(row.mode);
  if (row.loss == "replica") task.mode.loss_in_replica = true;
  if (row.loss == "output_device") task.mode.loss_in_replica = false;
  task.mode.gather_outputs = row.loss == "replica_and_outputs";
  task.batch.rows = row.batch;
  task.numbers.dtype = row.dtype;
  setup.optimizer.name = row.optimizer;
  if (row.bucket_nbytes) setup.bucket_nbytes = static_cast<std::size_t>(*row.bucket_nbytes);
  return setup;
}

sim::IterationRecord record_row(const IterationTable& table,
                                const IterationRow& row,
                                const sim::Cluster& cluster) {
  const auto refuse = [&](const std::exception& e) {
    return Error(fmt::format("{}, line {}: {}", table.name, row.line, e.what()));
  };
  try {
    sim::IterationRecord step = record_step(setup_of(row), cluster, row.gpus).step;
    step.copies_buckets = row.copies_buckets;
    return step;
  } catch (const UsageError& e) {
    throw refuse(e);
  } catch (const Error& e) {
    throw refuse(e);
  }
}

}  // namespace

std::vector<sim::IterationRecord> record_iterations(const IterationTable& table,
                                                    const sim::Cluster& cluster) {
  for (const IterationRow& row : table.rows)
    check_row(table, row, cluster);
  std::vector<sim::IterationRecord> records;
  for (const IterationRow& row : table.rows)
    records.push_back(record_row(table, row, cluster));
  return records;
}

}  // namespace tandem::cli
