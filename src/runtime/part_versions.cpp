// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/part_versions.hpp"

#include <algorithm>
#include <utility>

namespace tandem {

PartVersions::PartVersions(std::vector<std::size_t> ends)
    : ends_(std::move(ends)), counts_(std::make_unique<Count[]>(ends_.size())) {}

std::size_t PartVersions::part_of(std::size_t byte) const noexcept {
  return static_cast<std::size_t>(std::ranges::upper_bound(ends_, byte) - ends_.begin());
}

void PartVersions::bump(std::size_t begin, std::size_t end) noexcept {
  if (ends_.empty() || (begin == 0 && end >= ends_.back())) {
    whole_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  for (std::size_t part = part_of(begin); part < ends_.size() && begin < end; ++part) {
    counts_[part].fetch_add(1, std::memory_order_relaxed);
    begin = ends_[part];
  }
}

std::uint64_t PartVersions::version(std::size_t begin, std::size_t end) const noexcept {
  std::uint64_t sum = whole_.load(std::memory_order_relaxed);
  for (std::size_t part = part_of(begin); part < ends_.size() && begin < end; ++part) {
    sum += counts_[part].load(std::memory_order_relaxed);
    begin = ends_[part];
  }
  return sum;
}

void PartVersions::set(std::size_t at, std::uint64_t version) noexcept {
  const std::size_t part = part_of(at);
  if (part == ends_.size()) return;
  // Sums wrap around: a part may be younger than the buffer.
  counts_[part].store(version - whole_.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

std::vector<std::uint64_t> PartVersions::all() const {
  const std::uint64_t whole = whole_.load(std::memory_order_relaxed);
  std::vector<std::uint64_t> versions(ends_.size());
  for (std::size_t part = 0; part < versions.size(); ++part)
    versions[part] = whole + counts_[part].load(std::memory_order_relaxed);
  return versions;
}

void PartVersions::set_all(const std::vector<std::uint64_t>& versions) noexcept {
  const std::uint64_t whole = whole_.load(std::memory_order_relaxed);
  for (std::size_t part = 0; part < ends_.size() && part < versions.size(); ++part)
    counts_[part].store(versions[part] - whole, std::memory_order_relaxed);
}

}  // namespace tandem
