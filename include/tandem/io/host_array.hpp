// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "tandem/core/check.hpp"
#include "tandem/core/dtype.hpp"
#include "tandem/core/shape.hpp"
#include "tandem/tensor/tensor.hpp"

namespace tandem {

/// A dense row-major array in plain host memory. The memory belongs to no device and counts against
/// no limit.
///
/// Files are read into such arrays, and loader threads prepare them, before a tensor takes the
/// content.
struct HostArray {
  HostArray() = default;
  /// An array of zeros.
  ///
  /// @throws InvalidArgument  if a size is negative, or the array has more than 2^63 - 1 bytes.
  HostArray(DType type, const Shape& sizes);

  DType dtype = DType::u8;
  Shape shape = {0};
  /// In this machine's byte order; a bool is 0 or 1.
  std::vector<std::byte> bytes;

  /// The elements.
  ///
  /// @throws InvalidArgument  if `T` is not the array's dtype.
  template <Element T>
  std::span<const T> values() const& {
    check(dtype_of<T>());
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  template <Element T>
  std::span<T> values() & {
    check(dtype_of<T>());
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  template <Element T>
  std::span<const T> values() const&& = delete;  // of an array that is about to go away

 private:
  void check(DType asked) const {
    TANDEM_CHECK(
        asked == dtype, "HostArray: the array holds ", dtype, ", but the call asks for ", asked);
  }
};

/// A tensor on `device` with its own memory. The bytes count as a copy from the host.
///
/// @throws OutOfMemory  if the device's limit is exceeded.
Tensor to_tensor(const HostArray& array, Device device = {});
/// The elements of `x`, which may be on any device and in any layout. Reads the device.
HostArray to_host_array(const Tensor& x);

}  // namespace tandem
