// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/ops/sort.hpp"

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/check.hpp"
#include "tandem/runtime/dispatch.hpp"
#include "tandem/tensor/access.hpp"
#include "tandem/tensor/factories.hpp"

#include "kernels/top.hpp"
#include "ops/take.hpp"
#include "tensor/view_of.hpp"

namespace tandem {
namespace {

/// i64, off the tape; k entries along `dim`.
Tensor top_indices(
    const char* name, kernels::Ranking ranking, const Tensor& x, std::int64_t k, int dim) {
  Shape shape = x.shape();
  shape[dim] = k;
  const Tensor y = empty(shape, {.dtype = DType::i64, .device = x.device()});
  const auto flops = static_cast<double>(x.numel());
  dispatch(x.stream(), make_work(Work::Kind::reduce, name, {x}, {y}, flops), [&](auto& s) {
    kernels::top(s, ranking, dim, view_of(x), view_of(y));
  });
  return y;
}

kernels::Ranking ranking_of(Order order) {
  const bool largest = order == Order::descending;
  return {largest, largest};
}

/// The first along a dimension; a NaN above all.
ValuesIndices extreme(const char* name, bool largest, const Tensor& x, int dim, KeepDims keep) {
  const int d = normalize_dim(dim, x.ndim(), name);
  Shape lines = x.shape();
  lines[d] = 1;
  TANDEM_CHECK(
      x.size(d) > 0 || numel(lines) == 0, name, ": there is nothing to choose from in ", x.shape());
  const Tensor index = top_indices(name, {largest, true}, x, 1, d);
  const Tensor value = take(x, d, index);
  if (keep == KeepDims::yes) return {value, index};
  return {value.squeeze(d), index.squeeze(d)};
}

}  // namespace

ValuesIndices max(const Tensor& x, int dim, KeepDims keep) {
  return extreme("max", true, x, dim, keep);
}
ValuesIndices min(const Tensor& x, int dim, KeepDims keep) {
  return extreme("min", false, x, dim, keep);
}

Tensor argmin(const Tensor& x, int dim, KeepDims keep) {
  const autograd::NoGrad off;
  return extreme("argmin", false, x, dim, keep).indices;
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
  const Tensor index = top_indices("topk", ranking_of(order), x, k, d);
  return {take(x, d, index), index};
}

ValuesIndices sort(const Tensor& x, int dim, Order order) {
  const int d = normalize_dim(dim, x.ndim(), "sort");
  const Tensor index = argsort(x, d, order);
  return {take(x, d, index), index};
}

Tensor argsort(const Tensor& x, int dim, Order order) {
  const int d = normalize_dim(dim, x.ndim(), "sort");
  return top_indices("sort", ranking_of(order), x, x.size(d), d);
}

}  // namespace tandem
