// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <cmath>

#include "kernels/cuda/bytes.hpp"
#include "kernels/cuda/map.hpp"
#include "kernels/fill.hpp"
#include "kernels/fill.inl"

namespace tandem::kernels {

void fill(const CudaStream& s, double value, const View& y) {
  const KernelPlan plan = make_kernel_plan({&y});
  const bool zero = value == 0 && !std::signbit(value);  // in every type all bits are 0
  if (zero && plan.numel > 0 && is_dense(plan, 1)) {
    clear_bytes(s, y.data, static_cast<std::size_t>(plan.numel) * itemsize(y.dtype));
    return;
  }
  fill_elements(s, value, y);
}

template void arange(const CudaStream&, double, double, const View&);

}  // namespace tandem::kernels
