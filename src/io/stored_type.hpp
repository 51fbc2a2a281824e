// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tandem/core/dtype.hpp"
#include "tandem/core/shape.hpp"
#include "tandem/io/host_array.hpp"

namespace tandem::detail {

/// A type of a safetensors file. Names, sizes: safetensors 0.8.0, tensor.rs, enum Dtype.
struct StoredType {
  std::string_view name;  ///< "I16"
  int bits = 0;           ///< of one number
  /// What its numbers are read as, each exactly; nothing: tandem cannot read them.
  std::optional<DType> held = std::nullopt;
};

/// The type that the format calls `name`; nullptr where there is none.
const StoredType* stored_type(std::string_view name) noexcept;
/// The type that tensors of `dtype` are written as.
const StoredType& stored_type(DType dtype) noexcept;
/// "F32, F64, ...": the types that are read.
std::string read_types();
/// Bytes of a dense array; nothing where they are not a whole number or overflow 63 bits.
std::optional<std::uint64_t> stored_nbytes(const StoredType& type, const Shape& shape) noexcept;

/// Numbers of `type`, which has another one to hold them, as that one.
///
/// @return nothing where a number is too large for it.
std::optional<HostArray> widened(const StoredType& type,
                                 const Shape& shape,
                                 std::span<const std::byte> bytes);

}  // namespace tandem::detail
