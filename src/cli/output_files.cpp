// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/output_files.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <span>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tandem/core/error.hpp"
#include "tandem/io/file.hpp"
#include "tandem/train/sharded_checkpoint.hpp"

#include "cli/console.hpp"
#include "cli/usage_error.hpp"
#include "train/stream_file.hpp"

namespace tandem::cli {
namespace {

namespace fs = std::filesystem;

/// The one name of a file, whether it is there or not; links are followed.
std::string one_name(const std::string& path) {
  std::error_code error;
  const fs::path whole = fs::absolute(path, error);
  const fs::path name = error ? fs::path(path) : fs::weakly_canonical(whole, error);
  return error ? path : name.string();
}

bool are_the_same(const std::string& a, const std::string& b) {
  if (a == "-" || b == "-") return a == b;
  return !is_stream(a) && !is_stream(b) && one_name(a) == one_name(b);
}

void check_stream(const std::string& path) {
  if (::access(path.c_str(), W_OK) != 0)
    throw FileError(path, -1, std::string("cannot be written: ") + std::strerror(errno));
}

void check_one(const GivenFile& file) {
  const bool written = file.use == FileUse::replaced || file.use == FileUse::appended;
  if (written && file.path == "-") return;
  if (written && is_stream(file.path)) return check_stream(file.path);
  if (file.use == FileUse::replaced || file.use == FileUse::kept) check_replaceable(file.path);
  if (file.use == FileUse::kept_folder) training::check_replaceable_checkpoint(file.path);
  if (file.use == FileUse::appended) training::check_stream_file(file.path);
}

}  // namespace

void check_files(const std::vector<GivenFile>& files) {
  for (auto one = files.begin(); one != files.end(); ++one) {
    if (one->path.empty()) continue;
    for (auto other = files.begin(); other != one; ++other) {
      if (other->path.empty() || !are_the_same(one->path, other->path)) continue;
      throw UsageError(fmt::format(
          "{} and {} are both '{}'; give two files", other->option, one->option, one->path));
    }
  }
  for (const GivenFile& file : files)
    if (!file.path.empty()) check_one(file);
}

bool is_stream(const std::string& path) {
  for (const char* own : {"/dev/fd/", "/proc/self/fd/", "/dev/stderr"})
    if (path.starts_with(own)) return true;
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return false;
  return S_ISFIFO(info.st_mode) || S_ISCHR(info.st_mode);
}

void write_text(const std::string& path, const std::string& text) {
  if (path == "-") return console::print_text(text);
  if (is_stream(path)) return training::StreamFile(path, training::StreamStart::append).write(text);
  const std::span<const char> bytes(text.data(), text.size());
  const std::span<const std::byte> parts[] = {std::as_bytes(bytes)};
  write_atomically(path, parts);
}

void write_json(const std::string& path, const nlohmann::json& json) {
  write_text(path, json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

}  // namespace tandem::cli
