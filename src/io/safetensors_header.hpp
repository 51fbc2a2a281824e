// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tandem/core/dtype.hpp"
#include "tandem/core/shape.hpp"
#include "tandem/io/safetensors.hpp"

#include "io/stored_type.hpp"

namespace tandem::detail {

/// The bytes before the header, which hold its size.
inline constexpr std::uint64_t kSafetensorsPrefix = 8;
inline constexpr std::uint64_t kSafetensorsMostHeader = 100'000'000;
inline constexpr const char* kSafetensorsMetadataKey = "__metadata__";
/// Metadata: ContentSum of the whole file, in which its digits count as zeros.
inline constexpr const char* kSafetensorsSumKey = "tandem.xxh3";

/// A tensor as the header describes it; offsets count from the end of the header.
struct HeaderTensor {
  std::string name;
  StoredType type = stored_type(DType::f32);
  Shape shape = {};
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

struct Header {
  SafetensorsMetadata metadata;
  std::vector<HeaderTensor> tensors;
};

/// Parses the JSON text of a header and checks everything that needs the text alone.
///
/// @param path, offset  where `text` comes from, for errors.
Header parse_header(std::string_view text, const std::string& path, std::uint64_t offset);

/// The header's JSON text, padded with blanks so that data starts on a multiple of eight bytes.
///
/// Throws InvalidArgument where a name or the metadata is not UTF-8.
std::string format_header(const Header& header);

/// Where the digits of the checksum begin in a header's text; npos: nowhere.
///
/// In a name or in other metadata these quotes would be escaped.
std::size_t sum_digits_at(std::string_view text);

}  // namespace tandem::detail
