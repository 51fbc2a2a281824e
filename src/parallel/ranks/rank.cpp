// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/parallel/rank.hpp"

#include <array>
#include <span>
#include <vector>

#include "tandem/runtime/context.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/factories.hpp"

#include "core/splitmix64.hpp"

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

std::uint64_t Rank::seed(std::uint64_t base) const noexcept {
  return splitmix64(base, static_cast<std::uint64_t>(rank()));
}

}  // namespace tandem::parallel
