// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/needs.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "tandem/runtime/runtime.hpp"

#include "cli/limits.hpp"

namespace tandem::cli {
namespace {

// Less than was measured, so that nothing is refused that would do.
constexpr double kBlockObjects = 16e3;  // bytes of a block beside its tensors
constexpr double kPieceObjects = 128;   // bytes of a piece of a segmented collective, on a rank
constexpr double kExact = 9e18;         // bytes that still are a std::size_t

std::string bytes_text(double bytes) {
  return bytes < kExact ? format_nbytes(static_cast<std::size_t>(bytes))
                        : fmt::format("{:.1e} bytes", bytes);
}

double as_double(std::int64_t n) {
  return static_cast<double>(n);
}

/// Rows of a step that are there at once.
double rows_at_once(const RunOptions& options, const DataSets& data, std::size_t devices) {
  double rows = as_double(options.batch);
  if (data.train != nullptr) rows = std::min(rows, as_double(data.train->size()));
  rows /= as_double(options.accumulate);
  if (options.bitwise_leaves > 0)
    rows = std::min(rows, rows * static_cast<double>(devices) / as_double(options.bitwise_leaves));
  return rows;
}

}  // namespace

void check_fits(const std::string& what, double least) {
  const std::size_t most = available_host_memory();
  if (least <= static_cast<double>(most)) return;
  throw Error(fmt::format("{} needs at least {} of memory, and {} are there; give smaller sizes",
                          what,
                          bytes_text(least),
                          format_nbytes(most)));
}

void check_model_fits(const RunOptions& options,
                      const DataSets& data,
                      const parallel::DataParallelOptions& parallel) {
  if (parallel.devices.front().type != DeviceType::cpu) return;
  const auto devices = parallel.devices.size();
  const auto element = static_cast<double>(itemsize(storage_dtype(options)));
  const double rows = rows_at_once(options, data, devices);
  if (!data.is_text()) {
    check_fits(fmt::format("--batch {}", options.batch),
               rows * as_double(numel(data.sample)) * element);
    return;
  }
  const GptSizes& gpt = options.gpt;
  const double width = as_double(gpt.width), layers = as_double(gpt.layers);
  const double block = 12 * width * width + 13 * width;
  const double weights =
      width * (as_double(data.vocabulary.size()) + as_double(gpt.context) + 2) + layers * block;
  const double copies = 2 * static_cast<double>(devices) + 2;  // with gradients; two moments
  const double kept = rows * as_double(gpt.context) * width * layers;
  check_fits(
      fmt::format("gpt of {} layers, width {} and context {} on {} devices, in batches of {}",
                  gpt.layers,
                  gpt.width,
                  gpt.context,
                  devices,
                  options.batch),
      element * (weights * copies + kept) + layers * kBlockObjects * static_cast<double>(devices));
}

void check_collective_fits(const CollectivesRequest& request,
                           std::span<const Device> devices,
                           std::size_t nbytes,
                           std::size_t segment) {
  if (devices.front().type != DeviceType::cpu) return;
  const double all = static_cast<double>(nbytes) * static_cast<double>(devices.size());
  const bool segmented = request.algorithm == "segmented_ring";
  const double pieces = segmented ? all / static_cast<double>(segment) : 0;
  check_fits(fmt::format("--max-bytes {} on {} ranks", request.max_bytes, devices.size()),
             all + pieces * kPieceObjects);
}

void check_limits_fit(std::span<const Device> devices) {
  double all = 0;
  for (const Device d : devices) {
    const std::size_t limit = logical_device(d).limit();
    if (d.type == DeviceType::cpu && limit != SIZE_MAX) all += static_cast<double>(limit);
  }
  check_fits("a search up to the limits of --devices", all);
}

}  // namespace tandem::cli
