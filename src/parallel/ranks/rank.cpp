// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/parallel/rank.hpp"

#include <array>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "tandem/autograd/autograd.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/factories.hpp"

#include "core/splitmix64.hpp"
#include "parallel/ranks/metric_rows.hpp"
#include "parallel/ranks/rank_calls.hpp"

namespace tandem::parallel {

Stream& Rank::stream() const {
  return logical_device(device()).stream();
}

double Rank::mean(double sum, double weight) const {
  const ContextScope kept([](Context& c) { c.keeps_data = true; });
  const std::array<double, 2> own{sum, weight};
  const Tensor both = from_host(std::span<const double>(own), {2}, device());
  comm_.all_reduce(both);
  const std::vector<double> all = both.to_host<double>();
  return all[0] / all[1];
}

Tensor Rank::gather_for_metrics(const Tensor& rows, std::int64_t repeated) const {
  const autograd::NoGrad off;
  return gather_metric_rows(comm_, rows, repeated);
}

std::vector<std::string> Rank::gather_objects(std::string_view object) const {
  return gather_texts(comm_, RankCall::gather_objects, object);
}

std::string Rank::broadcast_object(std::string_view object, int root) const {
  return broadcast_text(comm_, object, root);
}

void Rank::wait_for_everyone(std::chrono::milliseconds timeout) const {
  TANDEM_CHECK(timeout.count() > 0,
               "wait_for_everyone: the time-out is ",
               timeout.count(),
               " ms; it must be above 0");
  comm_.monitored_barrier(timeout);
}

void Rank::write_line(const std::string& text) {
  const std::string line = text + '\n';
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);
}

std::uint64_t Rank::seed(std::uint64_t base) const noexcept {
  return splitmix64(base, static_cast<std::uint64_t>(rank()));
}

}  // namespace tandem::parallel
