// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/parallel/data_parallel.hpp"

#include "tandem/core/check.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/factories.hpp"

namespace tandem::parallel::detail {

DataParallelOptions with_devices(DataParallelOptions options) {
  if (options.devices.empty()) options.devices = default_devices();
  return options;
}

std::vector<RowRange> rows_of_one_run(std::size_t devices) {
  std::vector<RowRange> rows(devices, {1, 1});
  rows[0] = {0, 1};
  return rows;
}

WeightedSum weighted(const WeightedSum& loss, RowRange) {
  return loss;
}

WeightedSum weighted(const Tensor& loss, RowRange rows) {
  TANDEM_CHECK(loss.defined() && loss.numel() == 1,
               "step: the loss must be a scalar, got ",
               loss.describe());
  const auto n = static_cast<double>(rows.size());
  return {loss * n, {}};
}

}  // namespace tandem::parallel::detail
