// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "tandem/io/host_array.hpp"
#include "tandem/tensor/tensor.hpp"

namespace tandem {

/// Most bytes that read_npy takes without being told otherwise: 4 GiB.
inline constexpr std::uint64_t kNpyMostBytes = std::uint64_t{1} << 32;

/// Reads an array that numpy.save wrote (.npy, versions 1.0 to 3.0), plain or compressed by gzip.
///
/// Arrays in Fortran's order and of the other byte order are turned round. What the header promises
/// is checked before memory is taken.
///
/// @param most_bytes  an array of more bytes is refused.
/// @throws FileError  missing file; no .npy; a header that is not of the format; a dtype that
/// tandem
///                    does not hold (complex, text, structures, objects); more dimensions than
///                    kMaxDims; a size that overflows; too few or too many bytes; a bool that is
///                    neither 0 nor 1. Has the offset.
/// @source https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
HostArray read_npy(const std::string& path, std::uint64_t most_bytes = kNpyMostBytes);

/// As a tensor on `device`. @throws FileError, OutOfMemory
Tensor load_npy(const std::string& path, Device device = {});

/// Writes a tensor of any device and layout as .npy, version 1.0, little endian, in C's order, in
/// one step (see write_atomically). Reads the device.
///
/// @throws InvalidArgument  NumPy has no name for the dtype.
/// @throws FileError        as write_atomically.
void save_npy(const std::string& path, const Tensor& x);

}  // namespace tandem
