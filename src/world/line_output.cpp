// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "world/line_output.hpp"

#include <array>
#include <cerrno>

#include <poll.h>
#include <unistd.h>

namespace tandem::world {
namespace {

constexpr std::size_t kChunk = std::size_t{64} << 10;
constexpr std::size_t kLongest = std::size_t{1} << 20;  // bytes of a line that is held back
constexpr std::size_t kLastLines = 30;

}  // namespace

bool LineOutput::read(int from) {
  std::array<char, kChunk> bytes;
  for (;;) {
    const ssize_t n = ::read(from, bytes.data(), bytes.size());
    if (n > 0)
      take({bytes.data(), static_cast<std::size_t>(n)});
    else if (n == 0)
      return false;
    else if (errno != EINTR)
      return errno == EAGAIN;
  }
}

void LineOutput::take(std::string_view bytes) {
  for (std::size_t end = 0; (end = bytes.find('\n')) != std::string_view::npos;
       bytes.remove_prefix(end + 1)) {
    write_line(begun_ += bytes.substr(0, end));
    begun_.clear();
  }
  begun_ += bytes;
  if (begun_.size() > kLongest) finish();
}

void LineOutput::finish() {
  if (begun_.empty()) return;
  write_line(begun_);
  begun_.clear();
}

void LineOutput::write_line(const std::string& line) {
  last_.push_back(line);
  if (last_.size() > kLastLines) last_.pop_front();
  const std::string whole = prefix_ + line + '\n';
  std::string_view rest = whole;
  while (!rest.empty()) {
    const ssize_t n = ::write(to_, rest.data(), rest.size());
    if (n < 0 && errno == EAGAIN) {
      pollfd one{.fd = to_, .events = POLLOUT, .revents = 0};
      ::poll(&one, 1, -1);
    } else if (n < 0 && errno != EINTR) {
      if (errno != EPIPE) error_ = errno;  // by EPIPE whoever read it has gone
      return;
    }
    if (n > 0) rest.remove_prefix(static_cast<std::size_t>(n));
  }
}

}  // namespace tandem::world
