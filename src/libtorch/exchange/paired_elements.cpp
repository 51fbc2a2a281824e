// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/exchange/paired_elements.hpp"

#include <ATen/ATen.h>

#include "tandem/libtorch/exchange.hpp"

namespace tandem::libtorch {

Tensor from_torch_in_pairs(const at::Tensor& x, Device device) {
  return from_torch(x.is_complex() ? at::view_as_real(x.resolve_conj()) : x, device);
}

at::Tensor to_torch_from_pairs(const Tensor& x, c10::ScalarType dtype, c10::Device on) {
  const at::Tensor y = to_torch(x, on);
  if (!c10::isComplexType(dtype)) return y;
  const at::AutoDispatchBelowADInplaceOrView no_view;
  return at::view_as_complex(y);
}

}  // namespace tandem::libtorch
