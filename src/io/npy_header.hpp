// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "tandem/core/dtype.hpp"
#include "tandem/core/shape.hpp"

#include "io/byte_source.hpp"

namespace tandem::detail {

/// What the text at the head of an .npy file says of the data after it.
struct NpyHeader {
  DType dtype = DType::f32;
  bool swapped = false;  // elements are big endian
  bool fortran_order = false;
  Shape shape;
  std::uint64_t nbytes = 0;  // of the header: where the data begins
};

/// Reads it from the start of a file. @throws FileError
NpyHeader read_npy_header(ByteSource& source);

/// Version 1.0, padded so that the data begins at a multiple of 64 bytes.
/// @throws InvalidArgument  NumPy has no name for the dtype.
std::string npy_header(DType dtype, const Shape& shape);

}  // namespace tandem::detail
