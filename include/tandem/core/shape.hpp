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

/// Most dimensions a tensor may have.
inline constexpr int kMaxDims = 8;

/// Up to kMaxDims signed numbers, held inline: sizes, strides, or a list of dimensions.
///
/// A value; not thread-safe for concurrent writes. Negative indices count from the end.
class Dims {
 public:
  Dims() = default;
  /// @throws InvalidArgument  more than kMaxDims values.
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
  /// @throws InvalidArgument  `i` outside [-size, size).
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

/// Sizes of a tensor's dimensions; `{}` is a scalar.
using Shape = Dims;
/// Steps between neighbours of a dimension, in elements.
using Strides = Dims;

/// Product of the sizes, 1 for a scalar; INT64_MAX where 64 bits do not hold it.
std::int64_t numel(const Shape& shape) noexcept;
/// Strides of a dense row-major tensor. @throws InvalidArgument  one does not fit in 64 bits.
Strides contiguous_strides(const Shape& shape);
/// Strides of a dense 4-D tensor of logical shape N, C, H, W whose channels lie next to each other.
///
/// @throws InvalidArgument  `shape` is not 4-D, or a stride does not fit in 64 bits.
Strides channels_last_strides(const Shape& shape);
/// Row-major and dense; sizes of one may have any stride.
bool is_contiguous(const Shape& shape, const Strides& strides) noexcept;
/// The shape that `a` and `b` broadcast to by NumPy's rule.
///
/// @param op  named in the error.
/// @throws InvalidArgument  they do not broadcast; the text has both shapes.
Shape broadcast_shapes(const Shape& a, const Shape& b, const char* op);
/// `dim` in [0, ndim), negative values counted from the end.
///
/// @throws InvalidArgument  out of range.
int normalize_dim(int dim, int ndim, const char* op);

/// "(2, 3)"; "()" for a scalar.
std::string to_string(const Dims& dims);
std::ostream& operator<<(std::ostream& s, const Dims& dims);

}  // namespace tandem
