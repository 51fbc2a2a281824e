// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "tandem/core/error.hpp"

namespace tandem::testing {

/// An empty directory of its own, removed with everything in it at the end.
class TempDir {
 public:
  TempDir() {
    std::string name = (std::filesystem::temp_directory_path() / "tandem-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw FileError(name, -1, "mkdtemp failed");
    path_ = name;
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  std::string file(const std::string& name) const { return (path_ / name).string(); }
  const std::filesystem::path& path() const { return path_; }
  /// Names of what is inside.
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      out.push_back(entry.path().filename().string());
    }
    return out;
  }

 private:
  std::filesystem::path path_;
};

inline void put(const std::string& path, const std::string& content) {
  std::filesystem::remove(
      path);  // some file systems sync a file that is cut to nothing and written again
  std::ofstream(path, std::ios::binary) << content;
}

inline std::string get(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The FileError that `f` throws; one with the text "nothing was thrown" where it does not.
template <class F>
FileError file_error(F&& f) {
  try {
    std::forward<F>(f)();
  } catch (const FileError& e) {
    return e;
  }
  return {"", -2, "nothing was thrown"};
}

}  // namespace tandem::testing
