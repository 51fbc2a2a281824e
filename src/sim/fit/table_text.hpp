// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>

#include "tandem/core/error.hpp"

namespace tandem::sim {

/// The text of a file that is a table. @throws FileError  it cannot be read, or is too large.
std::string read_table_text(const std::string& path);

/// The lines of a table: without the byte order mark of UTF-8, with which some programs begin.
///
/// @throws InvalidArgument  there is a zero byte, as in UTF-16.
std::string_view table_lines(const std::string& name, std::string_view csv);

/// The text up to the next `end`, which is taken away from `text` with it.
std::string_view next_part(std::string_view& text, char end);
/// The next line, without its end, which may be that of Windows.
std::string_view next_line(std::string_view& text);

/// A part of a table as a message shows it: not longer than a line, with control characters as
/// "\\x1b".
std::string shown_text(std::string_view text);

/// "times.csv, line 3: why". @throws InvalidArgument  always.
[[noreturn]] void refuse_line(const std::string& name, std::size_t line, const std::string& why);
/// "times.csv, line 3, column mode: why". @throws InvalidArgument  always.
[[noreturn]] void refuse_column(const std::string& name,
                                std::size_t line,
                                std::string_view column,
                                const std::string& why);

/// Throws an error of parsing a file's table as one of the file, which names it once.
///
/// @param name  by which the error begins
[[noreturn]] void refuse_file(const std::string& path,
                              const std::string& name,
                              const InvalidArgument& error);

/// Whether all of `text` is a number, which `number` becomes.
template <class Number>
bool parse_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace tandem::sim
