// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "comm/processes/opening.hpp"

#include <algorithm>
#include <cstring>

#include "tandem/core/check.hpp"

#include "comm/schedule_pieces.hpp"

namespace tandem::comm {

struct Opening::Header {
  std::uint64_t group = 0;
  std::int64_t number = 0;
  std::uint64_t bytes = 0;  // of the whole opening
  std::uint64_t data = 0;   // bytes at its end
  std::uint32_t channel = 0;
  std::uint32_t signatures = 0;
};

namespace {

using Kind = Collective::Kind;
constexpr std::size_t kAligned = 64;

std::size_t aligned(std::size_t nbytes) {
  return (nbytes + kAligned - 1) / kAligned * kAligned;
}

/// Whether the ranks' parts differ in size.
bool has_counts(Kind kind) {
  return kind == Kind::gather || kind == Kind::scatter || kind == Kind::all_gather ||
         kind == Kind::reduce_scatter;
}

void add_words(const Signature& s, const Part& part, std::vector<std::int64_t>& words) {
  if (has_counts(s.kind)) {
    words.push_back(part.input_count);
    words.push_back(part.output_count);
  } else if (s.kind == Kind::all_to_all) {
    words.insert(words.end(), part.input_counts.begin(), part.input_counts.end());
    words.insert(words.end(), part.output_counts.begin(), part.output_counts.end());
  } else if (s.kind == Kind::split) {
    words.push_back(part.color);
    words.push_back(part.key);
  }
}

void read_words(const Signature& s, std::size_t ranks, Part& part, const std::int64_t*& word) {
  const auto counts = [&] {
    std::vector<std::int64_t> read(word, word + ranks);
    word += ranks;
    return read;
  };
  if (has_counts(s.kind)) {
    part.input_count = *word++;
    part.output_count = *word++;
  } else if (s.kind == Kind::all_to_all) {
    part.input_counts = counts();
    part.output_counts = counts();
  } else if (s.kind == Kind::split) {
    part.color = static_cast<int>(*word++);
    part.key = static_cast<int>(*word++);
  } else {
    part.input_count = part.output_count = s.count;
  }
}

}  // namespace

Opening::Opening(const Membership& group,
                 const Operation& op,
                 std::uint32_t channel,
                 std::span<const std::byte> data) {
  std::vector<std::int64_t> words;
  const auto size = static_cast<std::size_t>(group.ranks.size());
  for (std::size_t i = 0; i < op.signatures.size(); ++i)
    for (const int r : group.own_ranks())
      add_words(op.signatures[i], op.parts[i * size + static_cast<std::size_t>(r)], words);
  const std::size_t signatures = op.signatures.size() * sizeof(Signature);
  Header header{.group = group.group,
                .number = op.number,
                .data = data.size(),
                .channel = channel,
                .signatures = static_cast<std::uint32_t>(op.signatures.size())};
  const std::size_t head = aligned(sizeof header) + aligned(signatures);
  header.bytes = head + aligned(words.size() * sizeof(std::int64_t)) + data.size();
  bytes_.resize(header.bytes);
  std::memcpy(bytes_.data(), &header, sizeof header);
  std::memcpy(bytes_.data() + aligned(sizeof header), op.signatures.data(), signatures);
  if (!words.empty())
    std::memcpy(bytes_.data() + head, words.data(), words.size() * sizeof(std::int64_t));
  if (!data.empty())
    std::memcpy(bytes_.data() + bytes_.size() - data.size(), data.data(), data.size());
}

const Opening::Header& Opening::header() const noexcept {
  return *reinterpret_cast<const Header*>(bytes_.data());
}

std::size_t Opening::size() const noexcept {
  return header().bytes;
}

std::uint32_t Opening::channel() const noexcept {
  return header().channel;
}

std::vector<Signature> Opening::signatures() const {
  std::vector<Signature> read(header().signatures);
  std::memcpy(
      read.data(), bytes_.data() + aligned(sizeof(Header)), read.size() * sizeof(Signature));
  return read;
}

std::span<const std::int64_t> Opening::words() const noexcept {
  const std::size_t head =
      aligned(sizeof(Header)) + aligned(header().signatures * sizeof(Signature));
  const std::size_t nbytes = header().bytes - header().data - head;
  return {reinterpret_cast<const std::int64_t*>(bytes_.data() + head),
          nbytes / sizeof(std::int64_t)};
}

std::span<const std::byte> Opening::data() const noexcept {
  return std::span(bytes_).subspan(header().bytes - header().data, header().data);
}

std::string Opening::difference(const Membership& group, const Operation& op, int place) const {
  const std::string own = group.ranks.name(op.first_rank), other = group.name(place);
  const auto differ = [&](const char* what, const auto& a, const auto& b) {
    return detail::concat(what, " differs: ", own, " has ", a, ", ", other, " has ", b);
  };
  if (header().group != group.group) return differ("group", group.group, header().group);
  if (header().number != op.number)
    return differ("number of collectives", op.number, header().number);
  return comm::difference(op.signatures, own, signatures(), other);
}

void Opening::add_parts(const Membership& group, int place, Operation& op) const {
  static char elsewhere[1];  // memory of another process: there, but not to be used here
  const auto size = static_cast<std::size_t>(group.ranks.size());
  const std::int64_t* word = words().data();
  for (std::size_t i = 0; i < op.signatures.size(); ++i) {
    for (const int r : group.seats[static_cast<std::size_t>(place)]) {
      Part& part = op.parts[i * size + static_cast<std::size_t>(r)];
      read_words(op.signatures[i], size, part, word);
      part.input = part.output = part.scratch = elsewhere;
    }
  }
}

}  // namespace tandem::comm
