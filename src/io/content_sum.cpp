// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "io/content_sum.hpp"

#include <xxhash.h>

namespace tandem::detail {

struct ContentSum::State {
  XXH3_state_t xxh3;
};

ContentSum::ContentSum() : state_(std::make_unique<State>()) {
  XXH3_64bits_reset(&state_->xxh3);
}

ContentSum::~ContentSum() = default;

void ContentSum::add(std::span<const std::byte> bytes) {
  XXH3_64bits_update(&state_->xxh3, bytes.data(), bytes.size());
}

std::string ContentSum::digits() const {
  XXH64_hash_t value = XXH3_64bits_digest(&state_->xxh3);
  std::string text(kDigits, '0');
  for (std::size_t i = kDigits; i-- > 0; value >>= 4U)
    text[i] = "0123456789abcdef"[value & 0xFU];
  return text;
}

}  // namespace tandem::detail
