// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/core/shape.hpp"

#include <algorithm>
#include <limits>
#include <ostream>

#include "tandem/core/check.hpp"

namespace tandem {
namespace {

/// The stride of the dimension around one of `stride` and `size`, empty ones taken as one.
std::int64_t step_over(std::int64_t stride, std::int64_t size, const Shape& shape) {
  std::int64_t result = 0;
  TANDEM_CHECK(!__builtin_mul_overflow(stride, std::max<std::int64_t>(size, 1), &result),
               "shape ",
               shape,
               " has more elements than 63 bits can count; give smaller sizes");
  return result;
}

}  // namespace

Dims::Dims(std::initializer_list<std::int64_t> values)
    : Dims(std::span<const std::int64_t>(values.begin(), values.size())) {}

Dims::Dims(std::span<const std::int64_t> values) : size_(static_cast<int>(values.size())) {
  TANDEM_CHECK(values.size() <= kMaxDims,
               "shape: ",
               values.size(),
               " dimensions; a shape has at most ",
               kMaxDims);
  std::ranges::copy(values, values_.begin());
}

Dims Dims::filled(int n, std::int64_t value) {
  TANDEM_CHECK(n >= 0 && n <= kMaxDims, "shape: ", n, " dimensions; a shape has 0 to ", kMaxDims);
  Dims d;
  d.size_ = n;
  std::fill_n(d.values_.begin(), n, value);
  return d;
}

std::int64_t Dims::operator[](int i) const {
  const int k = i < 0 ? i + size_ : i;
  TANDEM_CHECK(k >= 0 && k < size_, "dimension ", i, " is out of range for ", *this);
  return values_[static_cast<std::size_t>(k)];
}

std::int64_t& Dims::operator[](int i) {
  const int k = i < 0 ? i + size_ : i;
  TANDEM_CHECK(k >= 0 && k < size_, "dimension ", i, " is out of range for ", *this);
  return values_[static_cast<std::size_t>(k)];
}

void Dims::push_back(std::int64_t value) {
  insert(size_, value);
}

void Dims::insert(int at, std::int64_t value) {
  TANDEM_CHECK(size_ < kMaxDims,
               "shape: ",
               *this,
               " already has ",
               kMaxDims,
               " dimensions, which is the most a shape can have");
  TANDEM_CHECK(at >= 0 && at <= size_, "shape: cannot insert a size at ", at, " into ", *this);
  std::copy_backward(begin() + at, end(), end() + 1);
  values_[static_cast<std::size_t>(at)] = value;
  ++size_;
}

void Dims::erase(int at) {
  TANDEM_CHECK(at >= 0 && at < size_, "shape: cannot erase the size at ", at, " from ", *this);
  std::copy(begin() + at + 1, end(), begin() + at);
  --size_;
}

bool operator==(const Dims& a, const Dims& b) noexcept {
  return std::ranges::equal(a, b);
}

std::int64_t numel(const Shape& shape) noexcept {
  std::int64_t n = 1;
  for (const std::int64_t s : shape)
    if (__builtin_mul_overflow(n, s, &n)) [[unlikely]]
      n = s == 0 ? 0 : std::numeric_limits<std::int64_t>::max();
  return n;
}

Strides contiguous_strides(const Shape& shape) {
  Strides strides = Dims::filled(shape.size(), 1);
  for (int i = shape.size() - 2; i >= 0; --i)
    strides[i] = step_over(strides[i + 1], shape[i + 1], shape);
  return strides;
}

Strides channels_last_strides(const Shape& shape) {
  TANDEM_CHECK(shape.size() == 4, "channels-last needs a 4-D shape (N, C, H, W), got ", shape);
  const std::int64_t c = shape[1], row = step_over(c, shape[3], shape);
  return {step_over(row, shape[2], shape), 1, row, c};
}

bool is_contiguous(const Shape& shape, const Strides& strides) noexcept {
  if (numel(shape) <= 1) return true;
  std::int64_t expected = 1;
  for (int i = shape.size() - 1; i >= 0; --i) {
    const std::int64_t size = shape.begin()[i];
    if (size != 1 && strides.begin()[i] != expected) return false;
    expected *= size;
  }
  return true;
}

Shape broadcast_shapes(const Shape& a, const Shape& b, const char* op) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& other = a.size() >= b.size() ? b : a;
  Shape out = longer;
  for (int i = 1; i <= other.size(); ++i) {
    const std::int64_t x = longer[-i], y = other[-i];
    TANDEM_CHECK(x == y || x == 1 || y == 1,
                 op,
                 ": shapes ",
                 a,
                 " and ",
                 b,
                 " do not broadcast (",
                 x,
                 " against ",
                 y,
                 " in dimension ",
                 -i,
                 ")");
    out[-i] = x == 1 ? y : x;
  }
  return out;
}

int normalize_dim(int dim, int ndim, const char* op) {
  const int range = std::max(ndim, 1);
  TANDEM_CHECK(dim >= -range && dim < range,
               op,
               ": dimension ",
               dim,
               " is out of range for ",
               ndim,
               " dimensions");
  return dim < 0 ? dim + range : dim;
}

std::string to_string(const Dims& dims) {
  std::string text = "(";
  for (int i = 0; i < dims.size(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(dims[i]);
  }
  return text + ")";
}

std::ostream& operator<<(std::ostream& s, const Dims& dims) {
  return s << to_string(dims);
}

}  // namespace tandem
