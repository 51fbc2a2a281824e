// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/widened_matmul.hpp"

#include "kernels/gemm.hpp"
#include "kernels/widened_view.hpp"

namespace tandem::kernels {

void widened_matmul(
    const HostStream& s, const View& a, const View& b, const View& bias, const View& c) {
  const WidenedView wide_a(s, a), wide_b(s, b);
  const WideResult product(s, c);
  if (bias.data == nullptr) {
    matmul(s, wide_a.view(), wide_b.view(), {}, product.view());
  } else {
    const WidenedView wide_bias(s, bias);
    matmul(s, wide_a.view(), wide_b.view(), wide_bias.view(), product.view());
  }
  copy(s, product.view(), c);
}

}  // namespace tandem::kernels
