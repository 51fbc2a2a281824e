// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "train/stream_file.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tandem/core/error.hpp"

namespace tandem::training {
namespace {

constexpr mode_t kMode = 0666;  // less the process' mask
constexpr int kWrite = O_WRONLY | O_APPEND | O_CLOEXEC;

[[noreturn]] void fail(const std::string& path, const char* what) {
  throw FileError(path, -1, std::string(what) + ": " + std::strerror(errno));
}

/// @return -1 where there is something of that name, a link included.
int make(const std::string& path) {
  return ::open(path.c_str(), kWrite | O_CREAT | O_EXCL | O_NOFOLLOW, kMode);
}

int open_file(const std::string& path, StreamStart start) {
  const int made = make(path);
  if (made >= 0 || errno != EEXIST || start == StreamStart::refuse) return made;
  return ::open(path.c_str(), kWrite | (start == StreamStart::replace ? O_TRUNC : 0));
}

}  // namespace

StreamFile::StreamFile(const std::string& path, StreamStart start) : path_(path) {
  const int fd = open_file(path, start);
  if (fd < 0) fail(path, "cannot be written");
  file_.reset(::fdopen(fd, "ab"));
  if (file_ == nullptr) {
    ::close(fd);
    fail(path, "cannot be written");
  }
  std::fseek(file_.get(), 0, SEEK_END);
}

void StreamFile::write(std::string_view bytes) {
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) == bytes.size();
  if (!written || std::fflush(file_.get()) != 0) fail(path_, "cannot be written any more");
}

void check_stream_file(const std::string& path) {
  int fd = make(path);
  const bool made = fd >= 0;
  if (!made && errno == EEXIST) fd = ::open(path.c_str(), kWrite);
  if (fd < 0) fail(path, "cannot be written");
  ::close(fd);
  if (made) ::unlink(path.c_str());
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace tandem::training
