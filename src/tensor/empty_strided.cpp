// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tensor/empty_strided.hpp"

#include <memory>

#include "tandem/runtime/context.hpp"

#include "core/checked_size.hpp"

namespace tandem {

Tensor empty_strided(const Shape& shape, const Strides& strides, DType dtype, Device device) {
  const std::uint64_t nbytes = detail::nbytes_of("empty", dtype, shape);
  return from_buffer(
      std::make_shared<Buffer>(device, nbytes, context().category), 0, shape, strides, dtype);
}

}  // namespace tandem
