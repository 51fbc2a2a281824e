// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "tandem/core/error.hpp"
#include "tandem/train/metrics.hpp"

namespace tandem::train {

/// A file that grows, and that others read meanwhile.
class StreamFile {
 public:
  /// @throws FileError
  StreamFile(const std::string& path, Append append)
      : path_(path), file_(std::fopen(path.c_str(), append == Append::yes ? "ab" : "wb")) {
    if (file_ == nullptr) fail("cannot be written");
    std::fseek(file_.get(), 0, SEEK_END);
  }
  bool is_empty() const { return std::ftell(file_.get()) == 0; }
  /// @throws FileError
  void write(std::string_view bytes) {
    const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) == bytes.size();
    if (!written || std::fflush(file_.get()) != 0) fail("cannot be written on");
  }

 private:
  struct Close {
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
  };
  [[noreturn]] void fail(const char* what) const {
    throw FileError(path_, -1, std::string(what) + ": " + std::strerror(errno));
  }

  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
};

/// Since 1970.
double seconds_now();

}  // namespace tandem::train
