// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace tandem {

/// The text, or its first and last bytes and how many were left out between them. For errors, which
/// may repeat an argument of any length.
inline std::string shortened_text(std::string_view text) {
  constexpr std::size_t kMost = 2000;
  constexpr std::size_t kTail = 500;  // of them from its end, where the remedy stands
  const auto is_inner = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; };
  if (text.size() <= kMost) return std::string(text);
  std::size_t head = kMost - kTail, tail = text.size() - kTail;
  while (head > 0 && is_inner(text[head]))  // within a character of UTF-8
    --head;
  while (tail < text.size() && is_inner(text[tail]))
    ++tail;
  return std::string(text.substr(0, head)) + " [" + std::to_string(tail - head) +
         " bytes left out] " + std::string(text.substr(tail));
}

}  // namespace tandem
