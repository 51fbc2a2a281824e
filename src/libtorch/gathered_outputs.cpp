// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/libtorch/detail/gathered_outputs.hpp"

#include <ATen/ATen.h>

#include "libtorch/gradient_gate.hpp"

namespace tandem::libtorch::detail {

std::vector<at::Tensor> behind_gate(std::vector<at::Tensor> outputs) {
  return leave_replica(std::move(outputs));
}

at::Tensor to_host(const at::Tensor& x) {
  return x.defined() ? x.cpu() : x;
}

}  // namespace tandem::libtorch::detail
