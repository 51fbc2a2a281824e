// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>

#include "tandem/runtime/generator.hpp"
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
Tensor from_host(std::span<const T> values,
                 const Shape& shape,
                 Device device = get_default_device());
/// The values' own type gives the dtype: `tensor({1.f, 2.f})`.
template <Element T>
Tensor tensor(std::initializer_list<T> values, Device device = get_default_device()) {
  return from_host(std::span<const T>(values.begin(), values.size()),
                   {static_cast<std::int64_t>(values.size())},
                   device);
}
/// A scalar tensor.
Tensor scalar(double value, TensorOptions options = {});

/// Whether random numbers inside of a replica are the rows of the batch's.
enum class BatchRows : std::uint8_t {
  automatic,  ///< where the dimension of rows is as long as the replica has rows
  yes,        ///< so many, or a multiple of it (tokens of sentences)
  no          ///< the same numbers in all replicas
};

/// How random numbers are drawn. `randn({n, 8}, {.device = d}, {.rows = BatchRows::yes})`
struct RandomOptions {
  Generator* generator = nullptr;  ///< null: the default one
  BatchRows rows = BatchRows::automatic;
};

/// Uniform in [0, 1); the numbers follow from manual_seed and their position.
///
/// Outside of a module's forward the position is the count of draws before. Inside of one it is
/// that of dropout: the count of top-level forwards, the module's path and the call within it; and
/// a replica's rows get the numbers that they get on one device (docs/exactness.md).
/// @throws InvalidArgument  the dtype is no float.
Tensor rand(const Shape& shape, TensorOptions options = {}, const RandomOptions& random = {});
/// Standard normal.
Tensor randn(const Shape& shape, TensorOptions options = {}, const RandomOptions& random = {});
/// Of the shape, dtype and device of `x`; rows may be a multiple of the replica's.
Tensor rand_like(const Tensor& x, const RandomOptions& random = {});
Tensor randn_like(const Tensor& x, const RandomOptions& random = {});
/// Integers in [low, high).
Tensor randint(std::int64_t low,
               std::int64_t high,
               const Shape& shape,
               TensorOptions options = {.dtype = DType::i64},
               const RandomOptions& random = {});

}  // namespace tandem
