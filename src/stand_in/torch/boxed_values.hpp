// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>

namespace tandem::stand_in {

/// Puts f(x) for each tensor of a boxed value.
template <class F>
void replace_tensors(c10::IValue& value, const F& f) {
  if (value.isTensor()) {
    value = f(value.toTensor());
  } else if (value.isTensorList()) {
    c10::List<at::Tensor> list;
    for (const at::Tensor& x : value.toTensorVector())
      list.push_back(f(x));
    value = list;
  } else if (value.isOptionalTensorList()) {
    c10::List<std::optional<at::Tensor>> list;
    for (const std::optional<at::Tensor>& x : value.toOptionalTensorVector())
      list.push_back(x ? std::optional(f(*x)) : std::nullopt);
    value = list;
  }
}

inline bool is_generator(const c10::Argument& argument) {
  if (argument.type()->kind() == c10::TypeKind::GeneratorType) return true;
  const auto optional = argument.type()->cast<c10::OptionalType>();
  return optional != nullptr && optional->getElementType()->kind() == c10::TypeKind::GeneratorType;
}

inline bool is_written(const c10::Argument& argument) {
  return argument.alias_info() != nullptr && argument.alias_info()->isWrite();
}

/// A generator of the host's that draws what comes next of a GPU's: by its seed and its offset,
/// which goes on.
///
/// @param given  a value of the call; none: the GPU's own.
at::Generator host_generator(const c10::IValue& given, int gpu);

}  // namespace tandem::stand_in
