// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/ops/sort.hpp"

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/check.hpp"
#include "tandem/runtime/dispatch.hpp"
#include "tandem/tensor/access.hpp"
#include "tandem/tensor/factories.hpp"

#include "kernels/sort.hpp"
#include "ops/index.hpp"
#include "ops/sort.hpp"
#include "tensor/view_of.hpp"

namespace tandem {
namespace {

kernels::Ranking ranking_of(Order order) {
  const bool largest = order == Order::descending;
  return {largest, largest};
}

}  // namespace

Tensor topk_indices(
    const char* name, kernels::Ranking ranking, const Tensor& x, std::int64_t k, int dim) {
  Shape shape = x.shape();
  shape[dim] = k;
  const Tensor y = empty(shape, {.dtype = DType::i64, .device = x.device()});
  const auto flops = static_cast<double>(x.numel());
  const Work work = with_workspace(make_work(Work::Kind::reduce, name, {x}, {y}, flops));
  dispatch(
      x.stream(), work, [&](auto& s) { kernels::topk(s, ranking, dim, view_of(x), view_of(y)); });
  return y;
}

ValuesIndices topk(const Tensor& x, std::int64_t k, int dim, Order order) {
  const int d = normalize_dim(dim, x.ndim(), "topk");
  TANDEM_CHECK(k >= 0 && k <= x.size(d),
               "topk: k is ",
               k,
               ", but dimension ",
               d,
               " of ",
               x.shape(),
               " has ",
               x.size(d));
  const Tensor index = topk_indices("topk", ranking_of(order), x, k, d);
  return {take(x, d, index), index};
}

ValuesIndices sort(const Tensor& x, int dim, Order order) {
  const int d = normalize_dim(dim, x.ndim(), "sort");
  const Tensor index = argsort(x, d, order);
  return {take(x, d, index), index};
}

Tensor argsort(const Tensor& x, int dim, Order order) {
  const int d = normalize_dim(dim, x.ndim(), "sort");
  return topk_indices("sort", ranking_of(order), x, x.size(d), d);
}

}  // namespace tandem
