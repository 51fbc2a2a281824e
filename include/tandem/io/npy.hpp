// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "tandem/io/host_array.hpp"
#include "tandem/tensor/tensor.hpp"

namespace tandem {

/// The default limit of read_npy: 4 GiB.
inline constexpr std::uint64_t kNpyMostBytes = std::uint64_t{1} << 32;

/// Reads an array that numpy.save wrote (.npy, versions 1.0 to 3.0), plain or compressed by gzip.
///
/// Arrays in Fortran's order or in the other byte order are converted. The size that the header
/// promises is checked before memory is allocated.
///
/// @param most_bytes  a larger array is refused
/// @throws FileError  if the file is missing or is not a .npy file, the header does not follow the
///                    format, tandem does not support the dtype (complex, text, structures,
///                    objects), there are more dimensions than kMaxDims, a size overflows, there
///                    are too few or too many bytes, or a bool is neither 0 nor 1. The error has
///                    the offset.
/// @source https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
HostArray read_npy(const std::string& path, std::uint64_t most_bytes = kNpyMostBytes);

/// Like read_npy, but gives a tensor on `device`.
///
/// @throws FileError    as read_npy.
/// @throws OutOfMemory  if the device's limit is exceeded.
Tensor load_npy(const std::string& path, Device device = {});

/// Writes a tensor of any device and layout as .npy (version 1.0, little endian, C's order) in one
/// step; see write_atomically. Reads the device.
///
/// @throws InvalidArgument  if `x` is undefined, or NumPy has no name for its dtype.
/// @throws FileError        as write_atomically.
void save_npy(const std::string& path, const Tensor& x);

}  // namespace tandem
