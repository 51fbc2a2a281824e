// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "world/frame.hpp"

#include <algorithm>
#include <cstring>

#include "tandem/core/error.hpp"

namespace tandem::world {
namespace {

struct Head {
  std::uint32_t nbytes = 0;  // of the text
  std::int32_t process = 0;
  std::uint32_t kind = 0;
};
constexpr std::uint32_t kMostText = 1U << 20;
constexpr std::int64_t kMostMicroseconds = std::int64_t{1} << 53;  // 285 years

}  // namespace

std::string encode(const Frame& frame) {
  const auto nbytes = std::min<std::size_t>(frame.text.size(), kMostText);
  const Head head{
      static_cast<std::uint32_t>(nbytes), frame.process, static_cast<std::uint32_t>(frame.kind)};
  std::string bytes(sizeof head, '\0');
  std::memcpy(bytes.data(), &head, sizeof head);
  bytes.append(frame.text, 0, nbytes);
  return bytes;
}

std::string encode_clock(std::chrono::microseconds now) {
  const std::int64_t count = now.count();
  return encode({Frame::Kind::clock, 0, std::string(reinterpret_cast<const char*>(&count), 8)});
}

std::optional<std::chrono::microseconds> read_clock(const std::string& bytes) {
  Head head;
  std::int64_t count = 0;
  if (bytes.size() != sizeof head + sizeof count) return std::nullopt;
  std::memcpy(&head, bytes.data(), sizeof head);
  std::memcpy(&count, bytes.data() + sizeof head, sizeof count);
  const bool is_clock =
      head.kind == static_cast<std::uint32_t>(Frame::Kind::clock) && head.nbytes == sizeof count;
  if (!is_clock || count < 0 || count > kMostMicroseconds) return std::nullopt;
  return std::chrono::microseconds(count);
}

std::vector<Frame> FrameReader::add(const char* bytes, std::size_t n) {
  waiting_.append(bytes, n);
  std::vector<Frame> frames;
  std::size_t used = 0;
  Head head;
  while (waiting_.size() - used >= sizeof head) {
    std::memcpy(&head, waiting_.data() + used, sizeof head);
    if (head.nbytes > kMostText || head.kind > static_cast<std::uint32_t>(Frame::Kind::mention))
      throw CommError("watch: nonsense has come; something else than tandem has called");
    if (waiting_.size() - used < sizeof head + head.nbytes) break;
    frames.push_back({static_cast<Frame::Kind>(head.kind),
                      head.process,
                      waiting_.substr(used + sizeof head, head.nbytes)});
    used += sizeof head + head.nbytes;
  }
  waiting_.erase(0, used);
  return frames;
}

}  // namespace tandem::world
