// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "world/store_protocol.hpp"

#include <algorithm>

#include "tandem/core/check.hpp"

namespace tandem::world {

MessageWriter& MessageWriter::byte(std::uint8_t x) {
  bytes_ += static_cast<char>(x);
  return *this;
}

MessageWriter& MessageWriter::u32(std::uint32_t x) {
  for (int shift = 0; shift < 32; shift += 8)
    byte(static_cast<std::uint8_t>(x >> shift));
  return *this;
}

MessageWriter& MessageWriter::u64(std::uint64_t x) {
  for (int shift = 0; shift < 64; shift += 8)
    byte(static_cast<std::uint8_t>(x >> shift));
  return *this;
}

MessageWriter& MessageWriter::text(std::string_view x) {
  u64(x.size());
  bytes_ += x;
  return *this;
}

MessageWriter& MessageWriter::texts(const std::vector<std::string>& all) {
  u64(all.size());
  for (const std::string& x : all)
    text(x);
  return *this;
}

std::string_view MessageReader::take(std::uint64_t nbytes) {
  if (nbytes > kMostBytes || used_ + nbytes > kMostBytes)
    throw CommError(tandem::detail::concat(
        "a message of the store says that it has ", nbytes, " bytes; it may have ", kMostBytes));
  if (!is_whole_ || bytes_.size() - used_ < nbytes) {
    is_whole_ = false;
    return {};
  }
  const std::string_view taken = bytes_.substr(used_, static_cast<std::size_t>(nbytes));
  used_ += taken.size();
  return taken;
}

std::uint64_t MessageReader::number(std::size_t nbytes) {
  std::uint64_t x = 0;
  const std::string_view bytes = take(nbytes);
  for (std::size_t i = bytes.size(); i-- > 0;)
    x = x << 8 | static_cast<std::uint8_t>(bytes[i]);
  return x;
}

std::uint8_t MessageReader::byte() {
  return static_cast<std::uint8_t>(number(1));
}

std::string MessageReader::text() {
  const std::uint64_t size = u64();
  return std::string(take(is_whole_ ? size : 0));
}

std::vector<std::string> MessageReader::texts() {
  std::vector<std::string> all;
  const std::uint64_t count = u64();
  for (std::uint64_t i = 0; i < count && is_whole_; ++i)
    all.push_back(text());
  return all;
}

}  // namespace tandem::world
