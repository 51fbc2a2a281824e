// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/io/host_array.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "tandem/runtime/dispatch.hpp"
#include "tandem/tensor/factories.hpp"

#include "core/checked_size.hpp"

namespace tandem {

HostArray::HostArray(DType type, const Shape& sizes) : dtype(type), shape(sizes) {
  const std::optional<std::uint64_t> nbytes = detail::checked_nbytes(dtype, shape);
  TANDEM_CHECK(nbytes, "HostArray: shape ", shape, " has a negative size or overflows 63 bits");
  bytes.resize(static_cast<std::size_t>(*nbytes));
}

Tensor to_tensor(const HostArray& array, Device device) {
  Tensor y = empty(array.shape, {.dtype = array.dtype, .device = device});
  TANDEM_CHECK(array.bytes.size() == y.nbytes(),
               "to_tensor: ",
               array.dtype,
               ' ',
               array.shape,
               " takes ",
               y.nbytes(),
               " bytes, but the array has ",
               array.bytes.size());
  if (!array.bytes.empty()) write(array.bytes.data(), y.buffer(), 0, array.bytes.size());
  return y;
}

HostArray to_host_array(const Tensor& x) {
  HostArray array(x.dtype(), x.shape());
  with_dtype(x.dtype(), [&]<class T>() {
    // vector<bool> has no array of its own, so elements are copied one by one
    std::ranges::copy(x.to_host<T>(), array.values<T>().begin());
  });
  return array;
}

}  // namespace tandem
