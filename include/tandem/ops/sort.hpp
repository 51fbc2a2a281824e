// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tandem/ops/reduce.hpp"
#include "tandem/tensor/tensor.hpp"

namespace tandem {

/// Which elements come first. A NaN counts as larger than any number.
enum class Order : std::uint8_t { ascending, descending };

/// The `k` largest elements along `dim` in descending order, or with Order::ascending the `k`
/// smallest in ascending order. Equal elements stay in their order. The gradient goes to the
/// elements that were taken.
///
/// @throws InvalidArgument  if `k` is negative or above the size of `dim`.
ValuesIndices topk(const Tensor& x, std::int64_t k, int dim = -1, Order order = Order::descending);
/// All elements along `dim` in order. The sort is stable.
ValuesIndices sort(const Tensor& x, int dim = -1, Order order = Order::ascending);
Tensor argsort(const Tensor& x, int dim = -1, Order order = Order::ascending);

}  // namespace tandem
