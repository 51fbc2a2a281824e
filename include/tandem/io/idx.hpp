// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "tandem/io/host_array.hpp"

namespace tandem {

/// The default limit of read_idx: 4 GiB.
inline constexpr std::uint64_t kIdxMostBytes = std::uint64_t{1} << 32;

/// Reads an IDX file (the format of the MNIST data sets) of u8, i32, f32 or f64. The file may be
/// plain or compressed by gzip, which is detected by its first bytes and not by its name.
///
/// The size that the header promises is checked before memory is allocated: against the file's
/// size, or for gzip against what a file of this size can inflate to. Inflating stops at the
/// promised size.
///
/// @param most_bytes  A larger array is refused, so that a sparse file, or one that compresses
///                    well, cannot take all memory.
/// @throws FileError  if the file is missing, the magic number is wrong, tandem does not support
///                    the type or the number of dimensions, a size overflows, there are too few or
///                    too many bytes, or the gzip data are damaged. The error has the offset, which
///                    is counted in the inflated data if the message says so.
/// @source Y. LeCun, C. Cortes, C. Burges, "The MNIST database", section "File formats"; RFC 1952
///         (gzip).
HostArray read_idx(const std::string& path, std::uint64_t most_bytes = kIdxMostBytes);

/// The content of an IDX file according to its header.
struct IdxHeader {
  DType dtype = DType::u8;
  Shape shape = {};
};

/// Reads only the header of an IDX file, plain or gzip.
///
/// @throws FileError  as read_idx, except for errors in what follows the header.
IdxHeader read_idx_header(const std::string& path);

}  // namespace tandem
