// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tandem/parallel/leaf_ops.hpp"
#include "tandem/tensor/nest.hpp"

namespace at {
class Tensor;
}

// PyTorch's tensors in nests, where tandem's could be: in containers, in structs with
// TANDEM_FIELDS, in marks. Include it before the first such nest is used.
namespace tandem {

template <>
inline constexpr bool is_foreign_tensor<at::Tensor> = true;

/// Scatter and gather of PyTorch's tensors, on PyTorch's own graph: gradients go back to the
/// tensors that were scattered. A Device is the virtual device that register_devices made
/// PyTorch's; tensors may come from anywhere.
template <>
struct parallel::LeafOps<at::Tensor> {
  static bool defined(const at::Tensor& x) noexcept;
  static int ndim(const at::Tensor& x);
  static std::int64_t size(const at::Tensor& x, int dim);
  static std::size_t nbytes(const at::Tensor& x);
  /// Whether x has a mean: complex numbers have one too.
  static bool is_float(const at::Tensor& x);
  static bool same_dtype(const at::Tensor& a, const at::Tensor& b);
  /// @throws InvalidArgument  `device` is not registered; so does `to`.
  static bool is_on(const at::Tensor& x, Device device);
  /// "cpu", "tandem:0".
  static std::string device_name(const at::Tensor& x);
  /// "Float [2, 3] on cpu".
  static std::string describe(const at::Tensor& x);

  static at::Tensor narrow(const at::Tensor& x, int dim, std::int64_t start, std::int64_t length);
  static at::Tensor to(const at::Tensor& x, Device device, NonBlocking non_blocking);
  /// In one node of PyTorch's graph, see libtorch::move_together.
  static std::vector<at::Tensor> all_to(const std::vector<at::Tensor>& parts, Device device);
  static at::Tensor cat(const std::vector<at::Tensor>& parts, int dim);
  static at::Tensor stack(const std::vector<at::Tensor>& parts);
  static at::Tensor add(const at::Tensor& a, const at::Tensor& b);
  static at::Tensor multiply(const at::Tensor& x, double factor);
};

}  // namespace tandem
