// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

namespace tandem::libtorch {

/// Replaces the tensors of an op's argument or result, wherever they are: x by f(x).
template <class F>
void replace_tensors(c10::IValue& value, F f) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) value = f(value.toTensor());
  } else if (value.isTensorList()) {
    std::vector<at::Tensor> list = value.toTensorVector();
    for (at::Tensor& x : list)
      x = f(x);
    value = std::move(list);
  } else if (value.isOptionalTensorList()) {
    c10::List<std::optional<at::Tensor>> list;
    for (const std::optional<at::Tensor>& x : value.toOptionalTensorVector())
      list.push_back(x && x->defined() ? std::optional<at::Tensor>(f(*x)) : x);
    value = std::move(list);
  }
}

}  // namespace tandem::libtorch
