// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "stand_in/machine/uses.hpp"

#include <algorithm>
#include <iterator>

namespace tandem::stand_in {
namespace {

std::uintptr_t address(const void* p) {
  return reinterpret_cast<std::uintptr_t>(p);
}

}  // namespace

void Uses::add(const void* block, std::size_t nbytes) {
  ranges_[address(block)] = {address(block) + nbytes, {}, {}};
}

void Uses::remove(const void* block, std::size_t nbytes) {
  const auto [begin, end] = ranges_of(block, nbytes);
  ranges_.erase(begin, end);
}

Uses::Ranges::iterator Uses::cut(std::uintptr_t at) {
  const auto next = ranges_.lower_bound(at);
  if ((next != ranges_.end() && next->first == at) || next == ranges_.begin()) return next;
  const auto around = std::prev(next);
  if (around->second.end <= at) return next;
  Range rest = around->second;
  around->second.end = at;
  return ranges_.emplace_hint(next, at, std::move(rest));
}

std::pair<Uses::Ranges::iterator, Uses::Ranges::iterator> Uses::ranges_of(const void* p,
                                                                          std::size_t nbytes) {
  const auto begin = cut(address(p));
  return {begin, cut(address(p) + nbytes)};
}

void Uses::note_writer(const Range& range, const Clock& after, std::vector<Conflict>& conflicts) {
  const Use& writer = range.writer;
  if (writer.what != nullptr && !after.covers(writer.stream, writer.task))
    conflicts.push_back({writer, true});
}

std::vector<Conflict> Uses::read(const void* p,
                                 std::size_t nbytes,
                                 const Use& use,
                                 const Clock& after) {
  const auto [begin, end] = ranges_of(p, nbytes);
  std::vector<Conflict> conflicts;
  for (auto i = begin; i != end; ++i) {
    note_writer(i->second, after, conflicts);
    auto& readers = i->second.readers;
    const auto own = std::ranges::find(readers, use.stream, &Use::stream);
    if (own != readers.end())
      *own = use;
    else
      readers.push_back(use);
  }
  return conflicts;
}

std::vector<Conflict> Uses::write(const void* p,
                                  std::size_t nbytes,
                                  const Use& use,
                                  const Clock& after) {
  const auto [begin, end] = ranges_of(p, nbytes);
  std::vector<Conflict> conflicts;
  for (auto i = begin; i != end; ++i) {
    note_writer(i->second, after, conflicts);
    for (const Use& reader : i->second.readers)
      if (!after.covers(reader.stream, reader.task)) conflicts.push_back({reader, false});
  }
  if (begin == end) return conflicts;
  begin->second.end = address(p) + nbytes;  // one writer now: one range
  begin->second.writer = use;
  begin->second.readers.clear();
  ranges_.erase(std::next(begin), end);
  return conflicts;
}

Use Uses::writer(const void* p) const {
  const auto next = ranges_.upper_bound(address(p));
  if (next == ranges_.begin() || std::prev(next)->second.end <= address(p)) return {};
  return std::prev(next)->second.writer;
}

}  // namespace tandem::stand_in
