// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/nn/parameter.hpp"

#include "tandem/core/check.hpp"

namespace tandem::nn {
namespace {

Tensor adopt(const Tensor& data, Category category) {
  if (!data.defined()) return {};
  if (data.buffer().category() != category) data.buffer().recategorise(category);
  return data.detach();
}

}  // namespace

Parameter::Parameter(const Tensor& data) : Tensor(adopt(data, Category::parameter)) {
  if (!defined()) return;
  TANDEM_CHECK(is_float(dtype()),
               "Parameter: needs a float tensor, got ",
               describe(),
               "; use a BufferTensor for state that is not trained");
  requires_grad_();
}

BufferTensor::BufferTensor(const Tensor& data) : Tensor(adopt(data, Category::buffer)) {}

}  // namespace tandem::nn
