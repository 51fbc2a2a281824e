// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/tensor/factories.hpp"

#include <cmath>
#include <numeric>

#include "tandem/core/check.hpp"
#include "tandem/runtime/dispatch.hpp"
#include "tandem/tensor/access.hpp"

#include "kernels/fill.hpp"
#include "kernels/random.hpp"
#include "tensor/empty_strided.hpp"
#include "tensor/frame_draw.hpp"
#include "tensor/view_of.hpp"

namespace tandem {
namespace {

constexpr double kMostNumbers = 0x1p60;  // of arange; of any dtype their bytes fit in 63 bits

/// The strides of `x` if it fills its memory without gaps in some order of dimensions, else
/// row-major ones.
Strides dense_strides(const Tensor& x) {
  if (x.is_contiguous(MemoryFormat::channels_last) && !x.is_contiguous())
    return channels_last_strides(x.shape());
  return contiguous_strides(x.shape());
}

/// A new tensor, filled by `kernel(stream, place, view)`.
template <class Kernel>
Tensor random(const char* name,
              const Tensor& y,
              const RandomOptions& options,
              RowMatch match,
              Kernel kernel) {
  const kernels::RandomPlace place = next_place(name, y.shape(), options, match);
  dispatch(y.stream(), make_work(Work::Kind::random, name, {}, {y}), [&](auto& s) {
    kernel(s, place, view_of(y));
  });
  return y;
}

Tensor uniform(const Tensor& y, const RandomOptions& options, RowMatch match) {
  TANDEM_CHECK(is_float(y.dtype()), "rand: needs a float dtype, got ", y.dtype());
  return random("rand", y, options, match, [](auto& s, const auto& place, const kernels::View& v) {
    kernels::uniform(s, place, v);
  });
}

Tensor normal(const Tensor& y, const RandomOptions& options, RowMatch match) {
  TANDEM_CHECK(is_float(y.dtype()), "randn: needs a float dtype, got ", y.dtype());
  return random("randn", y, options, match, [](auto& s, const auto& place, const kernels::View& v) {
    kernels::normal(s, place, v);
  });
}

/// How many numbers `arange` makes.
std::int64_t count_of(double start, double end, double step) {
  TANDEM_CHECK(step != 0, "arange: step is zero");
  const double count = std::ceil((end - start) / step);
  TANDEM_CHECK(count < kMostNumbers,
               "arange: the range from ",
               start,
               " to ",
               end,
               " by ",
               step,
               " has ",
               count,
               " numbers; a tensor holds fewer than 2^60");
  return count > 0 ? static_cast<std::int64_t>(count) : 0;
}

}  // namespace

Tensor empty(const Shape& shape, TensorOptions options) {
  const bool channels_last = options.format == MemoryFormat::channels_last;
  return empty_strided(shape,
                       channels_last ? channels_last_strides(shape) : contiguous_strides(shape),
                       options.dtype,
                       options.device);
}

Tensor empty_like(const Tensor& x) {
  return empty_strided(x.shape(), dense_strides(x), x.dtype(), x.device());
}

Tensor zeros(const Shape& shape, TensorOptions options) {
  return full(shape, 0, options);
}
Tensor zeros_like(const Tensor& x) {
  return empty_like(x).fill_(0);
}
Tensor ones(const Shape& shape, TensorOptions options) {
  return full(shape, 1, options);
}
Tensor ones_like(const Tensor& x) {
  return empty_like(x).fill_(1);
}

Tensor full(const Shape& shape, double value, TensorOptions options) {
  Tensor y = empty(shape, options);
  return y.fill_(value);
}

Tensor arange(double start, double end, double step, TensorOptions options) {
  const Tensor y = empty({count_of(start, end, step)}, options);
  dispatch(y.stream(), make_work(Work::Kind::elementwise, "arange", {}, {y}), [&](auto& s) {
    kernels::arange(s, start, step, view_of(y));
  });
  return y;
}

template <Element T>
Tensor from_host(std::span<const T> values, const Shape& shape, Device device) {
  TANDEM_CHECK(static_cast<std::int64_t>(values.size()) == numel(shape),
               "from_host: got ",
               values.size(),
               " values, but shape ",
               shape,
               " holds ",
               numel(shape));
  const Tensor y = empty(shape, {.dtype = dtype_of<T>(), .device = device});
  write(values.data(), y.buffer(), 0, y.nbytes());
  return y;
}

template Tensor from_host(std::span<const float>, const Shape&, Device);
template Tensor from_host(std::span<const double>, const Shape&, Device);
template Tensor from_host(std::span<const BFloat16>, const Shape&, Device);
template Tensor from_host(std::span<const Half>, const Shape&, Device);
template Tensor from_host(std::span<const std::int32_t>, const Shape&, Device);
template Tensor from_host(std::span<const std::int64_t>, const Shape&, Device);
template Tensor from_host(std::span<const std::uint8_t>, const Shape&, Device);
template Tensor from_host(std::span<const bool>, const Shape&, Device);

Tensor scalar(double value, TensorOptions options) {
  return full({}, value, options);
}

Tensor rand(const Shape& shape, TensorOptions options, const RandomOptions& random) {
  return uniform(empty(shape, options), random, RowMatch::equal);
}

Tensor randn(const Shape& shape, TensorOptions options, const RandomOptions& random) {
  return normal(empty(shape, options), random, RowMatch::equal);
}

Tensor rand_like(const Tensor& x, const RandomOptions& random) {
  return uniform(empty_like(x), random, RowMatch::multiple);
}

Tensor randn_like(const Tensor& x, const RandomOptions& random) {
  return normal(empty_like(x), random, RowMatch::multiple);
}

Tensor randint(std::int64_t low,
               std::int64_t high,
               const Shape& shape,
               TensorOptions options,
               const RandomOptions& options_of_draw) {
  TANDEM_CHECK(low < high, "randint: the range [", low, ", ", high, ") is empty");
  return random("randint",
                empty(shape, options),
                options_of_draw,
                RowMatch::equal,
                [&](auto& s, const auto& place, const kernels::View& y) {
                  kernels::randint(s, place, low, high, y);
                });
}

}  // namespace tandem
