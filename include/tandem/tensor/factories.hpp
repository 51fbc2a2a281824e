// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>

#include "tandem/runtime/generator.hpp"
#include "tandem/tensor/tensor.hpp"

namespace tandem {

/// Dtype, device and layout of a new tensor.
///
/// `{.dtype = DType::f64, .device = parse_device("cpu:1")}`
struct TensorOptions {
  DType dtype = DType::f32;
  Device device = get_default_device();
  MemoryFormat format = MemoryFormat::contiguous;  ///< only a layout; channels_last needs 4-D
};

/// A tensor that is not initialised.
Tensor empty(const Shape& shape, TensorOptions options = {});
/// A tensor with the shape, dtype and device of `x`. It is channels-last if `x` is, else row-major.
Tensor empty_like(const Tensor& x);
Tensor zeros(const Shape& shape, TensorOptions options = {});
Tensor zeros_like(const Tensor& x);
Tensor ones(const Shape& shape, TensorOptions options = {});
Tensor ones_like(const Tensor& x);
Tensor full(const Shape& shape, double value, TensorOptions options = {});
/// The numbers start, start + step, ... before `end`.
Tensor arange(double start,
              double end,
              double step = 1,
              TensorOptions options = {.dtype = DType::i64});

/// Copies host values in row-major order.
///
/// @throws InvalidArgument  the number of values does not match the shape.
template <Element T>
Tensor from_host(std::span<const T> values,
                 const Shape& shape,
                 Device device = get_default_device());
/// A 1-D tensor of these values. Their type gives the dtype: `tensor({1.f, 2.f})`.
template <Element T>
Tensor tensor(std::initializer_list<T> values, Device device = get_default_device()) {
  return from_host(std::span<const T>(values.begin(), values.size()),
                   {static_cast<std::int64_t>(values.size())},
                   device);
}
/// A scalar tensor.
Tensor scalar(double value, TensorOptions options = {});

/// Whether a random tensor made in a replica holds the replica's rows of one tensor for the whole
/// batch.
enum class BatchRows : std::uint8_t {
  automatic,  ///< if it has as many rows as the replica has of the batch
  yes,        ///< always; its rows must be a multiple of the replica's (tokens of sentences)
  no          ///< never: all replicas get the same numbers
};

/// How random numbers are drawn.
///
/// `randn({n, 8}, {.device = d}, {.rows = BatchRows::yes})`
struct RandomOptions {
  Generator* generator = nullptr;  ///< null: the default one
  BatchRows rows = BatchRows::automatic;
};

/// Uniform numbers in [0, 1). They follow from manual_seed and the draw's position.
///
/// Outside a module's forward, the position is the number of earlier draws. Inside a forward it is
/// the same as for dropout: the number of top-level forwards, the module's path and the call within
/// the module. A replica's rows get the numbers that they would get on one device
/// (docs/exactness.md).
/// @throws InvalidArgument  the dtype is not a float type; or with BatchRows::yes, the number of
///                          rows is not a multiple of the replica's.
Tensor rand(const Shape& shape, TensorOptions options = {}, const RandomOptions& random = {});
/// Standard normal numbers.
Tensor randn(const Shape& shape, TensorOptions options = {}, const RandomOptions& random = {});
/// With the shape, dtype and device of `x`. BatchRows::automatic also takes a multiple of the
/// replica's rows.
Tensor rand_like(const Tensor& x, const RandomOptions& random = {});
Tensor randn_like(const Tensor& x, const RandomOptions& random = {});
/// Integers in [low, high).
Tensor randint(std::int64_t low,
               std::int64_t high,
               const Shape& shape,
               TensorOptions options = {.dtype = DType::i64},
               const RandomOptions& random = {});

}  // namespace tandem
