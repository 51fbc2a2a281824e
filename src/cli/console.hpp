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

/// Text for stderr: progress, remarks and errors. Where it cannot be written nothing happens, since
/// the work is worth more than the word about it.
void tell_text(std::string_view text) noexcept;

template <class... Args>
void tell(fmt::format_string<Args...> form, Args&&... args) {
  tell_text(fmt::format(form, std::forward<Args>(args)...));
}

/// "tandem: ..." on a line of stderr, see one_line.
void tell_error(std::string_view text) noexcept;

/// Results, for stdout.
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

/// Text with names and values of others, for a terminal: control characters as \x1b, and the middle
/// of what is very long left out. Lines "  also ..." below it stay.
std::string one_line(std::string_view text);

/// A text of others for stdout: on a terminal with its control characters as \x1b, but for the ends
/// of lines and tabs; elsewhere as it is.
std::string shown(std::string_view text);

}  // namespace tandem::cli::console
