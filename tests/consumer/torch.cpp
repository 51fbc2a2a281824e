// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// A program of PyTorch that hands a tensor to tandem and takes one back, that trains on two
// devices, and in which PyTorch calls its own library for products, not the one that tandem is
// linked with.

#include <cstdio>
#include <string_view>

#include <dlfcn.h>
#include <torch/nn/modules/linear.h>

#include "tandem/libtorch/data_parallel.hpp"
#include "tandem/libtorch/exchange.hpp"
#include "tandem/ops/arithmetic.hpp"

bool has_own_products() {
  Dl_info info{};
  return dladdr(dlsym(RTLD_DEFAULT, "sgemm_"), &info) != 0 &&
         std::string_view(info.dli_fname).find("libtorch_cpu") != std::string_view::npos;
}

/// The loss of a step on two devices and its gradient are those of one.
bool trains() {
  torch::nn::Linear net(3, 1);
  const at::Tensor x = at::rand({6, 3});
  const at::Tensor loss = net->forward(x).square().mean();
  loss.backward();
  const at::Tensor expected = net->weight.grad().clone();
  net->zero_grad();
  tandem::libtorch::DataParallel dp(net, {.devices = tandem::configure_devices("cpu:2")});
  dp(x).square().mean().backward();
  return at::allclose(net->weight.grad(), expected);
}

int main() {
  if (!trains()) {
    std::puts("two devices give another gradient");
    return 1;
  }
  if (!has_own_products()) {
    std::puts("PyTorch's products are another library's");
    return 1;
  }
  const at::Tensor x = at::full({2, 3}, 21, at::kFloat);
  const at::Tensor y = tandem::libtorch::to_torch(tandem::mul(tandem::libtorch::from_torch(x), 2));
  std::printf("%g\n", y.sum().item<double>());
  return y.sum().item<double>() == 252 ? 0 : 1;
}
