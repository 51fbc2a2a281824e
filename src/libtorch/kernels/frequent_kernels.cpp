// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/kernels/frequent_kernels.hpp"

#include <array>
#include <optional>
#include <tuple>

#include <ATen/ATen.h>

#include "libtorch/kernels/host_views.hpp"
#include "libtorch/kernels/kernel_library.hpp"
#include "libtorch/kernels/kernel_scope.hpp"

namespace tandem::libtorch {
namespace {

/// Calls `op`, which is called `name`, with the host's views of the tensors, one of which at least
/// is a virtual device's.
template <class Op, class... Tensors>
at::Tensor on_host(const char* name, Op op, const Tensors&... tensors) {
  HostViews views;
  const auto call = [&](const auto&... host) {
    const HostKernelScope kernel(name, views.device()->index());
    return op(host...);
  };
  const std::array host{views.to_host(tensors)...};
  return views.to_device(std::apply(call, host));
}

at::Tensor addmm(const at::Tensor& x,
                 const at::Tensor& a,
                 const at::Tensor& b,
                 const at::Scalar& beta,
                 const at::Scalar& alpha) {
  return on_host(
      "addmm", [&](auto& u, auto& v, auto& w) { return at::addmm(u, v, w, beta, alpha); }, x, a, b);
}

at::Tensor mm(const at::Tensor& a, const at::Tensor& b) {
  return on_host(
      "mm", [](auto& u, auto& v) { return at::mm(u, v); }, a, b);
}

at::Tensor bmm(const at::Tensor& a, const at::Tensor& b) {
  return on_host(
      "bmm", [](auto& u, auto& v) { return at::bmm(u, v); }, a, b);
}

at::Tensor add(const at::Tensor& a, const at::Tensor& b, const at::Scalar& alpha) {
  return on_host(
      "add", [&](auto& u, auto& v) { return at::add(u, v, alpha); }, a, b);
}

at::Tensor mul(const at::Tensor& a, const at::Tensor& b) {
  return on_host(
      "mul", [](auto& u, auto& v) { return at::mul(u, v); }, a, b);
}

at::Tensor relu(const at::Tensor& x) {
  return on_host(
      "relu", [](auto& u) { return at::relu(u); }, x);
}

at::Tensor threshold_backward(const at::Tensor& dy,
                              const at::Tensor& x,
                              const at::Scalar& threshold) {
  return on_host(
      "threshold_backward",
      [&](auto& u, auto& v) { return at::threshold_backward(u, v, threshold); },
      dy,
      x);
}

at::Tensor gelu(const at::Tensor& x, c10::string_view approximate) {
  return on_host(
      "gelu", [&](auto& u) { return at::gelu(u, approximate); }, x);
}

at::Tensor gelu_backward(const at::Tensor& dy, const at::Tensor& x, c10::string_view approximate) {
  return on_host(
      "gelu_backward",
      [&](auto& u, auto& v) { return at::gelu_backward(u, v, approximate); },
      dy,
      x);
}

at::Tensor sum(const at::Tensor& x,
               at::OptionalIntArrayRef dim,
               bool keepdim,
               std::optional<at::ScalarType> dtype) {
  return on_host(
      "sum", [&](auto& u) { return at::sum(u, dim, keepdim, dtype); }, x);
}

}  // namespace

void register_frequent_kernels() {
  torch::Library& library = kernel_library("aten");
  library.impl("addmm", addmm);
  library.impl("mm", mm);
  library.impl("bmm", bmm);
  library.impl("add.Tensor", add);
  library.impl("mul.Tensor", mul);
  library.impl("relu", relu);
  library.impl("threshold_backward", threshold_backward);
  library.impl("gelu", gelu);
  library.impl("gelu_backward", gelu_backward);
  library.impl("sum.dim_IntList", sum);
}

}  // namespace tandem::libtorch
