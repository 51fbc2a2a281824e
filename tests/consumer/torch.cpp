// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// A program of PyTorch that hands a tensor to tandem and takes one back.

#include <cstdio>

#include <ATen/ATen.h>

#include "tandem/libtorch/exchange.hpp"
#include "tandem/ops/arithmetic.hpp"

int main() {
  const at::Tensor x = at::full({2, 3}, 21, at::kFloat);
  const at::Tensor y = tandem::libtorch::to_torch(tandem::mul(tandem::libtorch::from_torch(x), 2));
  std::printf("%g\n", y.sum().item<double>());
  return y.sum().item<double>() == 252 ? 0 : 1;
}
