// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace tandem::cli::console {

/// Called first. A write that fails is an error of that write: neither a pipe without a reader nor
/// a limit of files' sizes ends the program by a signal. What was closed of stdin, stdout and
/// stderr is opened so that its use still fails, and no other file takes its number and gets its
/// text.
void prepare() noexcept;

/// Writes progress, remarks and errors to stderr. If that fails nothing happens, since the work is
/// worth more than the words about it.
void tell_text(std::string_view text) noexcept;

template <class... Args>
void tell(fmt::format_string<Args...> form, Args&&... args) {
  tell_text(fmt::format(form, std::forward<Args>(args)...));
}

/// Writes "tandem: ..." as a line of stderr, see one_line.
void tell_error(std::string_view text) noexcept;

/// Writes results to stdout.
///
/// @throws FileError  they cannot be written.
void print_text(std::string_view text);

template <class... Args>
void print(fmt::format_string<Args...> form, Args&&... args) {
  print_text(fmt::format(form, std::forward<Args>(args)...));
}

/// Brings what was printed to its reader.
///
/// @throws FileError  it cannot be written.
void flush();

/// Makes a text with foreign names and values fit for a line of a terminal: control characters
/// become \x1b, and the middle of a very long text is left out. Lines "  also ..." below it stay.
std::string one_line(std::string_view text);

/// Makes a foreign text fit for stdout: on a terminal its control characters become \x1b, except
/// ends of lines and tabs; elsewhere it stays as it is.
std::string shown(std::string_view text);
/// The same, wherever stdout goes: for a text that is made to be read, as by less or in a log.
std::string readable(std::string_view text);

}  // namespace tandem::cli::console
