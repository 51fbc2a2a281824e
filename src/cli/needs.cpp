// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/needs.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "tandem/runtime/runtime.hpp"

#include "cli/limits.hpp"
#include "cli/models.hpp"

namespace tandem::cli {
namespace {

// Less than was measured, so that nothing is refused that would do.
constexpr double kBlockObjects = 16e3;  // bytes of a block beside its tensors
constexpr double kExact = 9e18;         // bytes that still are a std::size_t

std::string bytes_text(double bytes) {
  return bytes < kExact ? format_nbytes(static_cast<std::size_t>(bytes))
                        : fmt::format("{:.1e} bytes", bytes);
}

double as_double(std::int64_t n) {
  return static_cast<double>(n);
}

/// Rows of a step that are in memory at the same time.
double rows_at_once(const BatchChoice& batch, std::size_t devices) {
  const double rows = as_double(batch.full_batch()) / as_double(batch.accumulate);
  if (batch.bitwise_leaves == 0) return rows;
  return std::min(rows, rows * static_cast<double>(devices) / as_double(batch.bitwise_leaves));
}

}  // namespace

void check_fits(const std::string& what, double least) {
  const std::size_t most = available_host_memory();
  if (least <= static_cast<double>(most)) return;
  throw Error(fmt::format("{} needs at least {} of memory, but only {} is free; give smaller sizes",
                          what,
                          bytes_text(least),
                          format_nbytes(most)));
}

void check_model_fits(const TaskOptions& options,
                      const DataForm& form,
                      const parallel::DataParallelOptions& parallel) {
  const Device first = parallel.devices.front();
  if (first.type != DeviceType::cpu || !logical_device(first).has_data()) return;
  const auto devices = parallel.devices.size();
  const auto element = static_cast<double>(itemsize(options.numbers.storage()));
  const double rows = rows_at_once(options.batch, devices);
  if (!form.is_text()) {
    check_fits(fmt::format("--batch {}", options.batch.rows),
               rows * as_double(numel(form.sample)) * element);
    return;
  }
  const GptSizes& gpt = options.model.gpt;
  const double width = as_double(gpt.width), layers = as_double(gpt.layers);
  const double block = 12 * width * width + 13 * width;
  const double weights = width * (as_double(model_sizes(options.model, form).at("vocabulary")) +
                                  as_double(gpt.context) + 2) +
                         layers * block;
  const double copies = 2 * static_cast<double>(devices) + 2;  // with gradients; two moments
  const double kept = rows * as_double(gpt.length) * width * layers;
  check_fits(
      fmt::format("{} of {} layers, width {} and context {} on {} devices, in batches of {}",
                  options.model.name,
                  gpt.layers,
                  gpt.width,
                  gpt.context,
                  devices,
                  options.batch.rows),
      element * (weights * copies + kept) + layers * kBlockObjects * static_cast<double>(devices));
}

}  // namespace tandem::cli
