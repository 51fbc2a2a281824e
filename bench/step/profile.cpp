// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "profile.hpp"

#include <algorithm>
#include <chrono>
#include <vector>

#include <fmt/format.h>

#include "tandem/autograd/autograd.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/autocast.hpp"
#include "tandem/ops/linalg.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/tensor/factories.hpp"

namespace tandem::bench {
namespace {

/// The shortest piece of work of ten calls, in seconds: by events on a GPU, without launch or wait.
template <class F>
double shortest(const F& f) {
  constexpr int kCalls = 10;
  const profile::StepRecord record = profile::record([&] {
    for (int i = 0; i < kCalls; ++i)
      f();
  });
  double best = 1e9;
  for (const profile::WorkSpan& span : record.work) {
    const double seconds = std::chrono::duration<double>(span.end - span.begin).count();
    if (seconds > 0) best = std::min(best, seconds);
  }
  return best;
}

}  // namespace

Roofs Roofs::of(Device device, int threads, DType dtype) {
  const autograd::NoGrad off;
  const Autocast plain(DType::f32);  // a cast would be measured, too
  const ContextScope scope([threads](Context& c) { c.threads = threads; });
  const bool is_gpu = device.type == DeviceType::cuda;
  const std::int64_t side = is_gpu ? 8192 : 2048;
  const std::int64_t numel = std::int64_t{1} << (is_gpu ? 28 : 25);
  const Tensor a = randn({side, side}, {.device = device}).to(dtype);
  const Tensor x = zeros({numel}, {.device = device});
  Tensor y = zeros({numel}, {.device = device});
  const double product = shortest([&] { matmul(a, a); });
  const double sum = shortest([&] { y.add_(x); });
  const auto n = static_cast<double>(side);
  return {2 * n * n * n / product, 3 * 4.0 * static_cast<double>(numel) / sum};
}

double Roofs::least(double work_flops, double work_nbytes) const {
  return std::max(work_flops / flops, work_nbytes / bandwidth);
}

void Profile::on_work_begin(const Work& work, const Stream& stream) noexcept {
  recorder_.on_work_begin(work, stream);
}

void Profile::on_work_end(const Work& work, const Stream& stream) noexcept {
  recorder_.on_work_end(work, stream);
  const std::scoped_lock lock(mutex_);
  Row& row = rows_[work.name];
  row.flops += work.flops;
  for (const Access& a : work.accesses)
    row.nbytes += static_cast<double>(a.nbytes);
  ++row.calls;
}

std::vector<OpCost> Profile::take(std::int64_t steps, const Roofs& roofs) {
  for (const profile::WorkSpan& w : recorder_.take().work)
    rows_[w.name].seconds += std::chrono::duration<double>(w.end - w.begin).count();
  double total = 0;
  for (const auto& [name, row] : rows_)
    total += row.seconds;
  const auto n = static_cast<double>(steps);
  std::vector<OpCost> costs;
  for (const auto& [name, row] : rows_) {
    if (row.seconds <= 0) continue;  // too short for a GPU's clock
    costs.push_back({.name = name,
                     .calls = static_cast<double>(row.calls) / n,
                     .ms = 1e3 * row.seconds / n,
                     .share = row.seconds / total,
                     .flops = row.flops / row.seconds,
                     .bandwidth = row.nbytes / row.seconds,
                     .of_roof = roofs.least(row.flops, row.nbytes) / row.seconds});
  }
  std::ranges::sort(costs, std::ranges::greater{}, &OpCost::ms);
  rows_.clear();
  return costs;
}

void print(const std::vector<OpCost>& costs, const Roofs& roofs) {
  double total = 0;
  for (const OpCost& c : costs)
    total += c.ms;
  fmt::print(stderr,
             "roofs of a device: {:.0f} GFLOP/s, {:.0f} GB/s; ops take {:.2f} ms a step\n",
             roofs.flops / 1e9,
             roofs.bandwidth / 1e9,
             total);
  fmt::print(stderr,
             "{:<28} {:>8} {:>9} {:>7} {:>10} {:>8} {:>8}\n",
             "op, per step",
             "calls",
             "ms",
             "share",
             "GFLOP/s",
             "GB/s",
             "of roof");
  for (const OpCost& c : costs) {
    fmt::print(stderr,
               "{:<28} {:>8.1f} {:>9.3f} {:>6.1f}% {:>10.1f} {:>8.1f} {:>7.0f}%\n",
               c.name,
               c.calls,
               c.ms,
               100 * c.share,
               c.flops / 1e9,
               c.bandwidth / 1e9,
               100 * c.of_roof);
  }
}

}  // namespace tandem::bench
