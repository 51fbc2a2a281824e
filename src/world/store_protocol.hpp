// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::world {

/// The messages of PyTorch's TCPStore (c10d), little-endian: a byte that says what is asked, and
/// what belongs to it. A text is its length as u64 and its bytes.
///
/// @source PyTorch 2.15, torch/csrc/distributed/c10d/store/TCPStoreBackend.hpp
enum class Query : std::uint8_t {
  validate,     // u32 kMagic, once, before all others
  set,          // key, value
  compare_set,  // key, expected, desired -> value
  get,          // key -> value; the key is there
  add,          // key, i64 -> i64
  check,        // u64 n, n keys -> a Check
  wait,         // u64 n, n keys -> a Waited
  num_keys,     // -> i64
  delete_key,   // key -> i64
  append,       // key, value
  multi_get,    // u64 n, n keys -> n values
  multi_set,    // u64 n, n pairs of key and value
  cancel_wait,  // -> Waited::cancelled
  ping,         // u32 -> the same
};

enum class Check : std::uint8_t { ready, not_ready };
enum class Waited : std::uint8_t { ready, cancelled };

inline constexpr std::uint32_t kMagic = 0x3C85F7CE;
/// A message is no longer than this: who says that it is, is no store's client.
inline constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20;

/// Puts a message together.
class MessageWriter {
 public:
  MessageWriter() = default;
  explicit MessageWriter(Query query) { byte(static_cast<std::uint8_t>(query)); }

  MessageWriter& byte(std::uint8_t x);
  MessageWriter& u32(std::uint32_t x);
  MessageWriter& u64(std::uint64_t x);
  MessageWriter& i64(std::int64_t x) { return u64(static_cast<std::uint64_t>(x)); }
  MessageWriter& text(std::string_view x);
  MessageWriter& texts(const std::vector<std::string>& all);

  const std::string& bytes() const noexcept { return bytes_; }

 private:
  std::string bytes_;
};

/// Takes a message apart that may not have come whole yet.
///
/// @throws CommError  it is longer than kMostBytes.
class MessageReader {
 public:
  explicit MessageReader(std::string_view bytes) : bytes_(bytes) {}

  std::uint8_t byte();
  std::uint32_t u32() { return static_cast<std::uint32_t>(number(4)); }
  std::uint64_t u64() { return number(8); }
  std::int64_t i64() { return static_cast<std::int64_t>(number(8)); }
  std::string text();
  std::vector<std::string> texts();

  /// Whether all that was asked for has been there. What was read is meaningless otherwise.
  bool is_whole() const noexcept { return is_whole_; }
  std::size_t used() const noexcept { return used_; }

 private:
  std::uint64_t number(std::size_t nbytes);
  std::string_view take(std::uint64_t nbytes);

  std::string_view bytes_;
  std::size_t used_ = 0;
  bool is_whole_ = true;
};

}  // namespace tandem::world
