// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tandem/runtime/device.hpp"
#include "tandem/tensor/tensor.hpp"

namespace tandem::parallel {

/// What scatter and gather do with the tensors of a library. A specialisation for the type of
/// another library (is_foreign_tensor) has the same functions as the one for Tensor.
template <class Leaf>
struct LeafOps;

/// For Tensor. All functions but `defined` get a defined tensor; those that return a tensor are
/// differentiable.
template <>
struct LeafOps<Tensor> {
  static bool defined(const Tensor& x) noexcept { return x.defined(); }
  static int ndim(const Tensor& x) { return x.ndim(); }
  /// @param dim  in [-ndim, ndim); negative values count from the end.
  static std::int64_t size(const Tensor& x, int dim) { return x.size(dim); }
  static std::size_t nbytes(const Tensor& x) { return x.nbytes(); }
  static bool is_float(const Tensor& x) { return tandem::is_float(x.dtype()); }
  static bool same_dtype(const Tensor& a, const Tensor& b) { return a.dtype() == b.dtype(); }
  static bool is_on(const Tensor& x, Device device) { return x.device() == device; }
  /// "cpu:0".
  static std::string device_name(const Tensor& x) { return to_string(x.device()); }
  /// "f32 (2, 3) on cpu:0".
  static std::string describe(const Tensor& x) { return x.describe(); }

  /// A view of `length` entries of `dim`, from `start` on.
  static Tensor narrow(const Tensor& x, int dim, std::int64_t start, std::int64_t length) {
    return x.narrow(dim, start, length);
  }
  /// `x` itself if it is on `device`, otherwise a copy there.
  static Tensor to(const Tensor& x, Device device, NonBlocking non_blocking) {
    return x.to(device, non_blocking);
  }
  /// All of `parts` on `device`.
  static std::vector<Tensor> all_to(const std::vector<Tensor>& parts, Device device);
  /// Joins tensors on one device along `dim`. @param parts  at least one.
  static Tensor cat(const std::vector<Tensor>& parts, int dim);
  /// Joins tensors of one shape on one device along a new dimension 0. @param parts  at least one.
  static Tensor stack(const std::vector<Tensor>& parts);
  static Tensor add(const Tensor& a, const Tensor& b);
  static Tensor multiply(const Tensor& x, double factor);
};

}  // namespace tandem::parallel
