// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/libtorch/nest.hpp"

#include <ATen/ATen.h>

#include "tandem/core/check.hpp"
#include "tandem/libtorch/detail/gradient_gate.hpp"
#include "tandem/libtorch/detail/torch_device.hpp"

namespace tandem::parallel {

bool LeafOps<at::Tensor>::defined(const at::Tensor& x) noexcept {
  return x.defined();
}

int LeafOps<at::Tensor>::ndim(const at::Tensor& x) {
  return static_cast<int>(x.dim());
}

std::int64_t LeafOps<at::Tensor>::size(const at::Tensor& x, int dim) {
  return x.size(dim);
}

std::size_t LeafOps<at::Tensor>::nbytes(const at::Tensor& x) {
  return static_cast<std::size_t>(x.numel()) * x.itemsize();
}

bool LeafOps<at::Tensor>::is_float(const at::Tensor& x) {
  return x.is_floating_point() || x.is_complex();
}

bool LeafOps<at::Tensor>::same_dtype(const at::Tensor& a, const at::Tensor& b) {
  return a.scalar_type() == b.scalar_type();
}

bool LeafOps<at::Tensor>::is_on(const at::Tensor& x, Device device) {
  return x.device() == libtorch::torch_device(device);
}

std::string LeafOps<at::Tensor>::device_name(const at::Tensor& x) {
  return x.device().str();
}

std::string LeafOps<at::Tensor>::describe(const at::Tensor& x) {
  return tandem::detail::concat(x.scalar_type(), ' ', x.sizes(), " on ", x.device());
}

at::Tensor LeafOps<at::Tensor>::narrow(const at::Tensor& x,
                                       int dim,
                                       std::int64_t start,
                                       std::int64_t length) {
  return x.narrow(dim, start, length);
}

at::Tensor LeafOps<at::Tensor>::to(const at::Tensor& x, Device device, NonBlocking non_blocking) {
  return x.to(libtorch::torch_device(device), non_blocking == NonBlocking::yes);
}

std::vector<at::Tensor> LeafOps<at::Tensor>::all_to(const std::vector<at::Tensor>& parts,
                                                    Device device) {
  return libtorch::move_together(parts, {parts.size(), libtorch::torch_device(device)});
}

at::Tensor LeafOps<at::Tensor>::cat(const std::vector<at::Tensor>& parts, int dim) {
  return at::cat(parts, dim);
}

at::Tensor LeafOps<at::Tensor>::stack(const std::vector<at::Tensor>& parts) {
  return at::stack(parts);
}

at::Tensor LeafOps<at::Tensor>::add(const at::Tensor& a, const at::Tensor& b) {
  return a + b;
}

at::Tensor LeafOps<at::Tensor>::multiply(const at::Tensor& x, double factor) {
  return x * factor;
}

}  // namespace tandem::parallel
