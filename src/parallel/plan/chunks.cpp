// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/parallel/chunks.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "tandem/core/check.hpp"
#include "tandem/runtime/runtime.hpp"

#include "core/checked_size.hpp"
#include "core/even_share.hpp"

namespace tandem::parallel {
namespace {

using RowCounts = std::vector<std::int64_t>;

RowCounts even_rows(std::int64_t rows, std::size_t n) {
  RowCounts chunks;
  for (std::size_t i = 0; i < n; ++i) {
    const auto device = static_cast<std::int64_t>(i);
    chunks.push_back(even_share(rows, device, static_cast<std::int64_t>(n)).size());
  }
  return chunks;
}

/// The sum; none where 64 bits do not hold it.
std::optional<std::int64_t> total_of(const RowCounts& sizes) {
  std::int64_t total = 0;
  for (const std::int64_t size : sizes) {
    if (__builtin_add_overflow(total, size, &total)) return std::nullopt;
  }
  return total;
}

/// Shares `rows` in proportion to `weights`: the floor of each share, then one more row each for
/// the largest remainders (the first of equal ones).
RowCounts largest_remainder(std::int64_t rows, std::vector<double> weights) {
  int exponent = 0;
  std::frexp(*std::ranges::max_element(weights), &exponent);
  for (double& w : weights)
    w = std::ldexp(w, -exponent);  // the largest is below 1: their sum is finite
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  RowCounts chunks;
  std::vector<double> remainders;
  std::int64_t left = rows;
  for (const double w : weights) {
    const double share = static_cast<double>(rows) * (w / total), whole = std::floor(share);
    // Above 2^53 rows a share is rounded, and may be more than there is.
    const bool fits = whole < static_cast<double>(left);
    chunks.push_back(fits ? static_cast<std::int64_t>(whole) : left);
    left -= chunks.back();
    remainders.push_back(w > 0 ? share - whole : -1);
  }
  std::vector<std::size_t> order(weights.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(
      order, [&](std::size_t a, std::size_t b) { return remainders[a] > remainders[b]; });
  for (std::size_t i = 0; left > 0; i = (i + 1) % order.size()) {
    if (remainders[order[i]] < 0) continue;  // weight zero: no rows
    ++chunks[order[i]];
    --left;
  }
  return chunks;
}

/// torch.chunk: equal parts of ceil(rows / n), the last of them shorter, the rest empty.
RowCounts torch_rows(std::int64_t rows, std::size_t n) {
  const auto devices = static_cast<std::int64_t>(n);
  const std::int64_t part = rows / devices + (rows % devices > 0 ? 1 : 0);
  RowCounts chunks(n);
  for (std::int64_t& chunk : chunks) {
    chunk = std::min(part, rows);
    rows -= chunk;
  }
  return chunks;
}

/// min(rows, first) for device 0, the rest even; one device takes all.
RowCounts gpu0_rows(std::int64_t rows, std::int64_t first, std::size_t n) {
  if (n == 1) return {rows};
  first = std::min(first, rows);
  RowCounts chunks = even_rows(rows - first, n - 1);
  chunks.insert(chunks.begin(), first);
  return chunks;
}

RowCounts balanced_rows(std::int64_t rows, std::int64_t first, std::size_t n) {
  if (n == 1) return {rows};
  const std::int64_t others = (rows - first) / static_cast<std::int64_t>(n - 1);
  if (first < others) return gpu0_rows(rows, first, n);
  if (first > 0) return torch_rows(rows, n);
  RowCounts chunks = torch_rows(rows, n - 1);
  chunks.insert(chunks.begin(), 0);
  return chunks;
}

/// In proportion to what the limits leave free; even where a device has none.
RowCounts free_memory_rows(std::int64_t rows, std::span<const Device> devices) {
  std::vector<double> free;
  for (const Device d : devices) {
    const LogicalDevice& device = logical_device(d);
    const std::size_t in_use = device.memory_stats().in_use;
    if (device.limit() == SIZE_MAX) return even_rows(rows, devices.size());
    free.push_back(static_cast<double>(device.limit() - std::min(device.limit(), in_use)));
  }
  const bool some = std::ranges::any_of(free, [](double f) { return f > 0; });
  return some ? largest_remainder(rows, free) : even_rows(rows, devices.size());
}

void check_gpu0(std::int64_t gpu0_bsz) {
  TANDEM_CHECK(
      gpu0_bsz >= 0, "gpu0_bsz is ", gpu0_bsz, "; it must be 0 (no rows on device 0) or more");
}

template <class T>
std::string join(const std::vector<T>& values) {
  std::string text;
  for (const T& v : values)
    text += tandem::detail::concat(text.empty() ? "" : ",", v);
  return text;
}

}  // namespace

ChunkPolicy ChunkPolicy::sizes(std::vector<std::int64_t> sizes) {
  CheckedSize total("chunk sizes", 0);
  for (const auto s : sizes) {
    TANDEM_CHECK(s >= 0, "chunk sizes ", join(sizes), ": ", s, " is negative");
    total = total + s;
  }
  TANDEM_CHECK(std::ranges::any_of(sizes, [](auto s) { return s > 0; }),
               "chunk sizes: all are zero; give at least one device rows");
  return ChunkPolicy(Sizes{std::move(sizes)});
}

ChunkPolicy ChunkPolicy::weights(std::vector<double> weights) {
  for (const double w : weights) {
    TANDEM_CHECK(std::isfinite(w) && w >= 0,
                 "chunk weights ",
                 join(weights),
                 ": ",
                 w,
                 " is not a number of at least 0");
  }
  TANDEM_CHECK(std::ranges::any_of(weights, [](double w) { return w > 0; }),
               "chunk weights: all are zero; give at least one device a weight");
  return ChunkPolicy(Weights{std::move(weights)});
}

ChunkPolicy ChunkPolicy::free_memory() {
  return ChunkPolicy(FreeMemory{});
}

ChunkPolicy ChunkPolicy::gpu0(std::int64_t gpu0_bsz) {
  check_gpu0(gpu0_bsz);
  return ChunkPolicy(Gpu0{gpu0_bsz});
}

ChunkPolicy ChunkPolicy::torch_chunk() {
  return ChunkPolicy(TorchChunk{});
}

ChunkPolicy ChunkPolicy::balanced_data_parallel(std::int64_t gpu0_bsz) {
  check_gpu0(gpu0_bsz);
  return ChunkPolicy(Balanced{gpu0_bsz});
}

ChunkPolicy ChunkPolicy::planned(PlanGoal goal) {
  return ChunkPolicy(ToLearn{goal});
}

ChunkPolicy ChunkPolicy::planned(StepModel model, PlanGoal goal) {
  return ChunkPolicy(Planned{std::make_shared<const StepModel>(std::move(model)), goal});
}

bool ChunkPolicy::wants_model() const noexcept {
  return std::holds_alternative<ToLearn>(kind_);
}

const StepModel* ChunkPolicy::model() const noexcept {
  if (const auto* p = std::get_if<Planned>(&kind_)) return p->model.get();
  return nullptr;
}

PlanGoal ChunkPolicy::goal() const noexcept {
  if (const auto* p = std::get_if<ToLearn>(&kind_)) return p->goal;
  if (const auto* p = std::get_if<Planned>(&kind_)) return p->goal;
  return PlanGoal::least_peak;
}

std::vector<std::int64_t> ChunkPolicy::plan(std::int64_t rows,
                                            std::span<const Device> devices) const {
  const std::size_t n = devices.size();
  TANDEM_CHECK(n > 0, "chunks: the list of devices is empty");
  TANDEM_CHECK(rows >= 0, "chunks: the batch has ", rows, " rows; expected 0 or more");
  const auto check_count = [&](std::size_t given, const char* what) {
    TANDEM_CHECK(
        given == n, "chunks: ", given, ' ', what, " for ", n, " devices; give one for each");
  };
  if (const auto* s = std::get_if<Sizes>(&kind_)) {
    check_count(s->sizes.size(), "sizes");
    const auto total = total_of(s->sizes);
    TANDEM_CHECK(!total || rows <= *total,
                 "chunks: the sizes ",
                 join(s->sizes),
                 " add up to ",
                 *total,
                 " rows, but the batch has ",
                 rows,
                 "; make them add up to the batch");
    return rows == total ? s->sizes : largest_remainder(rows, {s->sizes.begin(), s->sizes.end()});
  }
  if (const auto* w = std::get_if<Weights>(&kind_)) {
    check_count(w->weights.size(), "weights");
    return largest_remainder(rows, w->weights);
  }
  if (const StepModel* m = model()) {
    check_count(m->needs().size(), "devices in the step model");
    return m->plan(rows, goal()).rows;
  }
  if (const auto* g = std::get_if<Gpu0>(&kind_)) return gpu0_rows(rows, g->rows, n);
  if (const auto* g = std::get_if<Balanced>(&kind_)) return balanced_rows(rows, g->rows, n);
  if (std::holds_alternative<TorchChunk>(kind_)) return torch_rows(rows, n);
  if (std::holds_alternative<FreeMemory>(kind_)) return free_memory_rows(rows, devices);
  return even_rows(rows, n);
}

std::string ChunkPolicy::describe() const {
  if (const auto* s = std::get_if<Sizes>(&kind_)) return "sizes " + join(s->sizes);
  if (const auto* w = std::get_if<Weights>(&kind_)) return "weights " + join(w->weights);
  if (const auto* g = std::get_if<Gpu0>(&kind_)) return "gpu0 " + std::to_string(g->rows);
  if (const auto* g = std::get_if<Balanced>(&kind_))
    return "BalancedDataParallel " + std::to_string(g->rows);
  if (std::holds_alternative<TorchChunk>(kind_)) return "torch chunk";
  if (wants_model() || std::holds_alternative<Planned>(kind_))
    return goal() == PlanGoal::least_time ? "planned for time" : "planned";
  return std::holds_alternative<FreeMemory>(kind_) ? "free memory" : "even";
}

}  // namespace tandem::parallel
