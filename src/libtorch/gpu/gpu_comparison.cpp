// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/gpu/gpu_comparison.hpp"

#include <cstddef>

#include <ATen/ATen.h>

namespace tandem::libtorch {
namespace {

/// The same bits as integers, of which none is unequal to itself.
at::Tensor bits_of(const at::Tensor& x) {
  const at::Tensor real = x.is_complex() ? at::view_as_real(x) : x;
  switch (real.element_size()) {
    case 8:
      return real.view(at::kLong);
    case 4:
      return real.view(at::kInt);
    case 2:
      return real.view(at::kShort);
    default:
      return real.view(at::kByte);
  }
}

}  // namespace

void GpuComparison::add(const at::Tensor& x, const at::Tensor& y) {
  const at::NoGradGuard off;
  differ_.push_back(
      bits_of(x.detach()).to(y.device(), /*non_blocking=*/true).ne(bits_of(y.detach())).any());
}

std::vector<bool> GpuComparison::differences() const {
  const at::NoGradGuard off;
  std::vector<bool> all(differ_.size());
  for (std::size_t begin = 0; begin < differ_.size();) {
    std::size_t end = begin + 1;
    while (end < differ_.size() && differ_[end].device() == differ_[begin].device())
      ++end;
    const auto from = differ_.begin() + static_cast<std::ptrdiff_t>(begin);
    const at::Tensor found =
        at::stack(std::vector(from, from + static_cast<std::ptrdiff_t>(end - begin))).cpu();
    for (std::size_t i = begin; i < end; ++i)
      all[i] = found.const_data_ptr<bool>()[i - begin];
    begin = end;
  }
  return all;
}

}  // namespace tandem::libtorch
