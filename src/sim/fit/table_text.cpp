// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "sim/fit/table_text.hpp"

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

std::string_view table_lines(const std::string& name, std::string_view csv) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  const std::size_t zero = csv.find('\0');
  if (zero != std::string_view::npos)
    refuse_line(name,
                static_cast<std::size_t>(std::ranges::count(csv.substr(0, zero), '\n')) + 1,
                "there is a zero byte, which no text has; if it is UTF-16, save it as UTF-8");
  if (csv.starts_with(kMark)) csv.remove_prefix(kMark.size());
  return csv;
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
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string shown;
  for (const char c : text.substr(0, kShownText)) {
    const auto code = static_cast<unsigned char>(c);
    if (code >= ' ' && code != 0x7f)
      shown += c;
    else
      shown += std::string("\\x") + kDigits[code / 16U] + kDigits[code % 16U];
  }
  return shown + (text.size() > kShownText ? "..." : "");
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

void refuse_file(const std::string& path, const std::string& name, const InvalidArgument& error) {
  std::string problem = error.what();
  if (problem.starts_with(name)) problem.erase(0, name.size());
  problem.erase(0, std::min(problem.find_first_not_of(",: "), problem.size()));
  throw FileError(path, -1, problem);
}

}  // namespace tandem::sim
