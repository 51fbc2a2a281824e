// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/console.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

#include "tandem/core/error.hpp"

#include "core/shortened_text.hpp"

namespace tandem::cli::console {
namespace {

[[noreturn]] void fail() {
  throw FileError("stdout",
                  -1,
                  std::string("cannot be written, and results are lost: ") + std::strerror(errno));
}

bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

/// U+0080 to U+009F in UTF-8: some terminals obey them.
bool is_high_control(std::string_view rest) {
  return rest.size() > 1 && rest[0] == '\xC2' && static_cast<unsigned char>(rest[1]) < 0xA0;
}

/// Causes that stand below an error, on lines of their own.
bool is_continuation(std::string_view rest) {
  return rest.starts_with("\n  also ");
}

/// Control characters by their numbers, but where `stays` holds of the rest of the text.
template <class Stays>
std::string escaped(std::string_view text, Stays stays) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_high_control(text.substr(i))) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned char>(text[++i]));
    } else if (is_control(text[i]) && !stays(text.substr(i))) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[i]));
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace

void prepare() noexcept {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) != -1 || errno != EBADF) continue;
    // The lowest free number is this one.
    static_cast<void>(::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY));
  }
}

void tell_text(std::string_view text) noexcept {
  static_cast<void>(std::fwrite(text.data(), 1, text.size(), stderr));
  static_cast<void>(std::fflush(stderr));
}

void tell_error(std::string_view text) noexcept {
  try {
    tell("tandem: {}\n", one_line(text));
  } catch (const std::exception&) {  // no memory for the line
    tell_text("tandem: ");
    tell_text(text);
    tell_text("\n");
  }
}

void print_text(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) fail();
}

void flush() {
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) fail();
}

std::string one_line(std::string_view text) {
  return escaped(shortened_text(text), is_continuation);
}

std::string readable(std::string_view text) {
  return escaped(text, [](std::string_view rest) { return rest[0] == '\n' || rest[0] == '\t'; });
}

std::string shown(std::string_view text) {
  return ::isatty(STDOUT_FILENO) == 0 ? std::string(text) : readable(text);
}

}  // namespace tandem::cli::console
