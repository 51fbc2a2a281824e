// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tandem::stand_in {

/// What was wrong in a program: told on stderr as it is found, and in a file of JSON lines.
class Reports {
 public:
  /// @param file  to which a line is added for each; empty: none.
  explicit Reports(std::string file) : file_(std::move(file)) {}

  /// @param kind  one word: "race", "memory", "kernel", "call", "deadlock", "refusal".
  /// @param name  of the op or call that is to blame.
  void add(const std::string& kind, const std::string& name, const std::string& text);
  std::size_t count() const { return count_; }
  const std::vector<std::string>& texts() const { return texts_; }
  /// For tests that expect some.
  void forget() {
    count_ = 0;
    texts_.clear();
  }

 private:
  std::string file_;
  std::size_t count_ = 0;
  std::vector<std::string> texts_;  // the first ones
};

}  // namespace tandem::stand_in
