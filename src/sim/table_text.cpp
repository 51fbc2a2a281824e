// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "sim/table_text.hpp"

#include <algorithm>
#include <cstdint>
#include <span>

#include "tandem/core/check.hpp"
#include "tandem/core/error.hpp"
#include "tandem/io/file.hpp"

namespace tandem::sim {
namespace {

constexpr std::uint64_t kMostTableBytes = 64 << 20;
constexpr std::size_t kShownText = 60;

}  // namespace

std::string read_table_text(const std::string& path) {
  const FileReader file(path);
  if (file.size() > kMostTableBytes)
    throw FileError(path, -1, "is larger than 64 MiB, which no table of times is");
  std::string text(file.size(), '\0');
  file.read_at(0, std::as_writable_bytes(std::span(text)));
  return text;
}

std::string_view next_part(std::string_view& text, char end) {
  const std::size_t at = std::min(text.find(end), text.size());
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return part;
}

std::string_view next_line(std::string_view& text) {
  std::string_view line = next_part(text, '\n');
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::string shown_text(std::string_view text) {
  return std::string(text.substr(0, kShownText)) + (text.size() > kShownText ? "..." : "");
}

void refuse_line(const std::string& name, std::size_t line, const std::string& why) {
  throw InvalidArgument(detail::concat(name, ", line ", line, ": ", why));
}

void refuse_column(const std::string& name,
                   std::size_t line,
                   std::string_view column,
                   const std::string& why) {
  throw InvalidArgument(detail::concat(name, ", line ", line, ", column ", column, ": ", why));
}

}  // namespace tandem::sim
