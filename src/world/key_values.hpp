// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tandem::world {

/// The contents of a store, and what its operations do to them. Not thread-safe.
class KeyValues {
 public:
  void set(const std::string& key, std::string value);
  /// Null: it is not there.
  const std::string* find(const std::string& key) const;
  /// @throws InvalidArgument  the value is not a number.
  std::int64_t add(const std::string& key, std::int64_t amount);
  std::string compare_set(const std::string& key,
                          const std::string& expected,
                          const std::string& desired);
  bool has(const std::vector<std::string>& keys) const { return missing(keys).empty(); }
  std::vector<std::string> missing(const std::vector<std::string>& keys) const;
  bool erase(const std::string& key);
  void append(const std::string& key, const std::string& value);
  std::int64_t size() const { return static_cast<std::int64_t>(values_.size()); }
  /// What keys and values take, roughly.
  std::size_t nbytes() const noexcept { return nbytes_; }

 private:
  std::map<std::string, std::string> values_;
  std::size_t nbytes_ = 0;
};

}  // namespace tandem::world
