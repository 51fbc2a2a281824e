// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// A header that is accepted is written and read again: it stays the same.

#include <string_view>

#include "tandem/core/error.hpp"
#include "tandem/io/safetensors.hpp"

#include "fuzz/input_file.hpp"
#include "io/safetensors_header.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const auto header = tandem::detail::parse_header(text, "input", 8);
    const std::string once = tandem::detail::format_header(header);
    if (tandem::detail::format_header(tandem::detail::parse_header(once, "again", 8)) != once)
      __builtin_trap();
  } catch (const tandem::FileError&) {
  }
  const tandem::fuzz::InputFile file(data, size);
  try {
    const tandem::SafetensorsFile opened(file.path());
  } catch (const tandem::FileError&) {
  }
  return 0;
}
