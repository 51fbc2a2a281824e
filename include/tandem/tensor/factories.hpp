// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>

#include "tandem/tensor/tensor.hpp"

namespace tandem {

/// Where and what a new tensor is. `{.dtype = DType::f64, .device = parse_device("cpu:1")}`
struct TensorOptions {
  DType dtype = DType::f32;
  Device device = get_default_device();
  MemoryFormat format = MemoryFormat::contiguous;  ///< changes no value; channels_last needs 4-D
};

/// Not initialised.
Tensor empty(const Shape& shape, TensorOptions options = {});
/// Same shape, dtype, device, and layout where dense.
Tensor empty_like(const Tensor& x);
Tensor zeros(const Shape& shape, TensorOptions options = {});
Tensor zeros_like(const Tensor& x);
Tensor ones(const Shape& shape, TensorOptions options = {});
Tensor ones_like(const Tensor& x);
Tensor full(const Shape& shape, double value, TensorOptions options = {});
/// start, start + step, ... below end.
Tensor arange(double start,
              double end,
              double step = 1,
              TensorOptions options = {.dtype = DType::i64});

/// Copies host values, row-major. @throws InvalidArgument  count and shape differ.
template <Element T>
Tensor from_host(std::span<const T> values, const Shape& shape, Device device = get_default_device());
/// The values' own type gives the dtype: `tensor({1.f, 2.f})`.
template <Element T>
Tensor tensor(std::initializer_list<T> values, Device device = get_default_device()) {
  return from_host(std::span<const T>(values.begin(), values.size()),
                   {static_cast<std::int64_t>(values.size())},
                   device);
}
/// A scalar tensor.
Tensor scalar(double value, TensorOptions options = {});

/// Uniform in [0, 1); the numbers follow from manual_seed and the count of random calls before.
Tensor rand(const Shape& shape, TensorOptions options = {});
/// Standard normal.
Tensor randn(const Shape& shape, TensorOptions options = {});
/// Integers in [low, high).
Tensor randint(std::int64_t low,
               std::int64_t high,
               const Shape& shape,
               TensorOptions options = {.dtype = DType::i64});

}  // namespace tandem
