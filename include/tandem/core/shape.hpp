// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <span>
#include <string>

namespace tandem {

/// The largest number of dimensions that a tensor may have.
inline constexpr int kMaxDims = 8;

/// Up to kMaxDims signed numbers, stored inline: sizes, strides, or a list of dimensions.
///
/// A value type; concurrent writes are not thread-safe. Negative indices count from the end.
class Dims {
 public:
  Dims() = default;
  /// @throws InvalidArgument  there are more than kMaxDims values.
  Dims(std::initializer_list<std::int64_t> values);
  explicit Dims(std::span<const std::int64_t> values);
  /// `n` copies of `value`.
  static Dims filled(int n, std::int64_t value);

  int size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  const std::int64_t* data() const noexcept { return values_.data(); }
  const std::int64_t* begin() const noexcept { return values_.data(); }
  const std::int64_t* end() const noexcept { return values_.data() + size_; }
  std::int64_t* begin() noexcept { return values_.data(); }
  std::int64_t* end() noexcept { return values_.data() + size_; }
  /// @throws InvalidArgument  `i` is outside [-size, size).
  std::int64_t operator[](int i) const;
  std::int64_t& operator[](int i);
  std::int64_t back() const { return (*this)[-1]; }
  void push_back(std::int64_t value);
  void insert(int at, std::int64_t value);
  void erase(int at);

  friend bool operator==(const Dims& a, const Dims& b) noexcept;

 private:
  std::array<std::int64_t, kMaxDims> values_{};
  int size_ = 0;
};

/// Sizes of a tensor's dimensions; `{}` is the shape of a scalar.
using Shape = Dims;
/// For each dimension, the distance between neighbours, in elements.
using Strides = Dims;

/// The product of the sizes; 1 for a scalar, INT64_MAX if the product does not fit in 64 bits.
std::int64_t numel(const Shape& shape) noexcept;
/// Strides of a dense row-major tensor.
///
/// @throws InvalidArgument  a stride does not fit in 64 bits.
Strides contiguous_strides(const Shape& shape);
/// Strides of a dense 4-D tensor with logical shape (N, C, H, W), in which the channels of a pixel
/// are adjacent.
///
/// @throws InvalidArgument  `shape` is not 4-D, or a stride does not fit in 64 bits.
Strides channels_last_strides(const Shape& shape);
/// Whether a tensor is dense in row-major order. The stride of a dimension of size 1 may be any;
/// with at most one element all strides may.
bool is_contiguous(const Shape& shape, const Strides& strides) noexcept;
/// The shape that `a` and `b` broadcast to, by NumPy's rule.
///
/// @param op  the op that the error names.
/// @throws InvalidArgument  they do not broadcast; the text names both shapes.
Shape broadcast_shapes(const Shape& a, const Shape& b, const char* op);
/// Converts `dim`, where negative values count from the end, to a dimension in [0, ndim).
///
/// A scalar (`ndim` 0) counts as having one dimension.
/// @throws InvalidArgument  `dim` is out of range.
int normalize_dim(int dim, int ndim, const char* op);

/// "(2, 3)"; "()" for a scalar.
std::string to_string(const Dims& dims);
std::ostream& operator<<(std::ostream& s, const Dims& dims);

}  // namespace tandem
