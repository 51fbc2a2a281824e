// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "tandem/io/host_array.hpp"

namespace tandem {

/// Most bytes that read_idx takes without being told otherwise: 4 GiB.
inline constexpr std::uint64_t kIdxMostBytes = std::uint64_t{1} << 32;

/// Reads an IDX file (the format of the MNIST data sets) of u8, i32, f32 or f64, plain or
/// compressed by gzip (told by its first bytes, not its name).
///
/// What the header promises is checked before memory is taken: against the file's size, or, for
/// gzip, against what a file of this size can inflate to. Inflating stops at the promised size.
///
/// @param most_bytes  an array of more bytes is refused, so that a sparse or dense file cannot take
/// all memory.
/// @throws FileError  missing file; wrong magic; a type or rank that tandem does not hold; a size
/// that overflows;
///                    too few or too many bytes; damaged gzip. Has the offset, counted in the
///                    inflated data where the text says so.
/// @source Y. LeCun, C. Cortes, C. Burges, "The MNIST database", section "File formats"; RFC 1952
/// (gzip).
HostArray read_idx(const std::string& path, std::uint64_t most_bytes = kIdxMostBytes);

/// What an IDX file says that it holds.
struct IdxHeader {
  DType dtype = DType::u8;
  Shape shape = {};
};

/// Reads the header of an IDX file, plain or gzip, and nothing behind it.
///
/// @throws FileError  as read_idx, but for what is behind the header.
IdxHeader read_idx_header(const std::string& path);

}  // namespace tandem
