// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "world/key_values.hpp"

#include <charconv>
#include <utility>

#include "tandem/core/check.hpp"

namespace tandem::world {
namespace {

constexpr std::size_t kNode = 128;  // bytes of an entry besides its texts

}  // namespace

void KeyValues::set(const std::string& key, std::string value) {
  const auto [at, is_new] = values_.try_emplace(key);
  if (is_new) nbytes_ += kNode + key.size();
  nbytes_ += value.size() - at->second.size();
  at->second = std::move(value);
}

bool KeyValues::erase(const std::string& key) {
  const auto found = values_.find(key);
  if (found == values_.end()) return false;
  nbytes_ -= kNode + key.size() + found->second.size();
  values_.erase(found);
  return true;
}

void KeyValues::append(const std::string& key, const std::string& value) {
  const auto [at, is_new] = values_.try_emplace(key);
  if (is_new) nbytes_ += kNode + key.size();
  nbytes_ += value.size();
  at->second += value;
}

const std::string* KeyValues::find(const std::string& key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

std::int64_t KeyValues::add(const std::string& key, std::int64_t amount) {
  std::int64_t number = 0;
  if (const std::string* text = find(key)) {
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
    TANDEM_CHECK(error == std::errc{} && end == text->data() + text->size(),
                 "store: add to the key '",
                 key,
                 "', whose value '",
                 *text,
                 "' is no number; use another key");
  }
  // Sums go round, as those of PyTorch's store.
  number = static_cast<std::int64_t>(static_cast<std::uint64_t>(number) +
                                     static_cast<std::uint64_t>(amount));
  set(key, std::to_string(number));
  return number;
}

std::string KeyValues::compare_set(const std::string& key,
                                   const std::string& expected,
                                   const std::string& desired) {
  const std::string* found = find(key);
  if (found == nullptr ? !expected.empty() : *found != expected)
    return found == nullptr ? expected : *found;
  set(key, desired);
  return desired;
}

std::vector<std::string> KeyValues::missing(const std::vector<std::string>& keys) const {
  std::vector<std::string> absent;
  for (const std::string& key : keys)
    if (!values_.contains(key)) absent.push_back(key);
  return absent;
}

}  // namespace tandem::world
