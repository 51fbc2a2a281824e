// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <nanobind/nanobind.h>
#include <torch/csrc/autograd/python_variable.h>

/// torch.Tensor in Python is at::Tensor in C++.
template <>
struct nanobind::detail::type_caster<at::Tensor> {
  NB_TYPE_CASTER(at::Tensor, const_name("torch.Tensor"))

  bool from_python(handle source, std::uint8_t, cleanup_list*) noexcept {
    if (!THPVariable_Check(source.ptr())) return false;
    value = THPVariable_Unpack(source.ptr());
    return true;
  }
  static handle from_cpp(const at::Tensor& x, rv_policy, cleanup_list*) {
    return THPVariable_Wrap(x);
  }
};
