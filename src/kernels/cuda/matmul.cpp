// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/copy.hpp"
#include "kernels/cuda/gemm.hpp"
#include "kernels/fill.hpp"
#include "kernels/map.hpp"

namespace tandem::kernels {
namespace {

/// The dimensions of the batch, with a, b and c.
KernelPlan batch_plan(const View& a, const View& b, const View& c) {
  View va = a, vb = b, vc = c;
  for (View* v : {&va, &vb, &vc}) {
    for (int i = 0; i < 2; ++i) {
      v->shape.erase(v->shape.size() - 1);
      v->strides.erase(v->strides.size() - 1);
    }
  }
  return make_kernel_plan({&vc, &va, &vb});
}

template <class T>
void typed_matmul(
    const CudaStream& s, const View& a, const View& b, const View& bias, const View& c) {
  const GemmSize size{c.shape[-2], c.shape[-1], a.shape[-1]};
  if (size.k == 0) {  // a sum of nothing
    if (bias.data == nullptr) return fill(s, 0, c);
    return copy(s, broadcast_to(bias, c.shape), c);
  }
  const MatrixLayout la = layout_of(a), lb = layout_of(b);
  const std::int64_t ldc = layout_of(c).ld;
  const KernelPlan plan = batch_plan(a, b, c);
  const auto step = [&](std::size_t k) { return plan.numel > 1 ? plan.inner_stride(k) : 0; };
  const GemmBatch inner{plan.inner(), step(1), step(2), step(0)};
  Cursor at(plan, 0);
  for (std::int64_t i = 0; i < plan.numel; i += plan.inner(), at.next()) {
    gemm<T>(s,
            size,
            {a.as<T>() + at.offset(1), la},
            {b.as<T>() + at.offset(2), lb},
            0,
            c.as<T>() + at.offset(0),
            ldc,
            bias.as<T>(),
            inner);
  }
}

}  // namespace

void matmul(const CudaStream& s, const View& a, const View& b, const View& bias, const View& c) {
  if (c.numel() == 0) return;
  with_any_float(c.dtype, [&]<class T>() { typed_matmul<T>(s, a, b, bias, c); });
}

}  // namespace tandem::kernels
