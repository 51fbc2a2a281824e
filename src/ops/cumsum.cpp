// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/ops/cumsum.hpp"

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/check.hpp"
#include "tandem/runtime/dispatch.hpp"
#include "tandem/tensor/access.hpp"

#include "kernels/cumsum.hpp"
#include "ops/autocast.hpp"
#include "ops/output.hpp"
#include "tensor/view_of.hpp"

namespace tandem {
namespace {

using kernels::CumsumFrom;

Tensor running_sum(CumsumFrom from, const Tensor& x, int dim) {
  const Tensor y = make_output(x.shape(), x.dtype(), {x});
  const auto flops = static_cast<double>(x.numel());
  dispatch(x.stream(), make_work(Work::Kind::reduce, "cumsum", {x}, {y}, flops), [&](auto& s) {
    kernels::cumsum(s, from, dim, view_of(x), view_of(y));
  });
  // Each element is in the sums that come after it.
  const auto back = from == CumsumFrom::first ? CumsumFrom::last : CumsumFrom::first;
  return autograd::record("cumsum", y, {x}, [back, dim](const Tensor& dy) {
    return autograd::Gradients{running_sum(back, dy, dim)};
  });
}

}  // namespace

Tensor cumsum(const Tensor& x, int dim) {
  if (is_float16(x.dtype())) return narrowed(cumsum(widened(x), dim), x.dtype());
  const int d = normalize_dim(dim, x.ndim(), "cumsum");
  return running_sum(CumsumFrom::first, is_float(x.dtype()) ? x : x.to(DType::i64), d);
}

}  // namespace tandem
