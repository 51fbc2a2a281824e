// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace tandem::detail {

/// XXH3 (64 bits) of bytes that come in pieces.
class ContentSum {
 public:
  static constexpr std::size_t kDigits = 16;

  ContentSum();
  ~ContentSum();
  ContentSum(const ContentSum&) = delete;
  ContentSum& operator=(const ContentSum&) = delete;

  void add(std::span<const std::byte> bytes);
  /// The sum of all bytes so far, in kDigits hexadecimal digits.
  std::string digits() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tandem::detail
