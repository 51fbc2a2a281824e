// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace tandem {

/// The versions of the parts of a buffer, each of which belongs to another tensor.
///
/// Reading and counting are thread-safe. @cost  a binary search, and one addition for each part
/// that is touched; a write to all bytes is one addition.
class PartVersions {
 public:
  /// @param ends  of the parts in bytes, ascending.
  explicit PartVersions(std::vector<std::size_t> ends);

  /// Notes a write to bytes [begin, end).
  void bump(std::size_t begin, std::size_t end) noexcept;
  /// Of bytes [begin, end): grows with each write to a part that they touch.
  std::uint64_t version(std::size_t begin, std::size_t end) const noexcept;
  /// Sets the version of the part that has byte `at`.
  void set(std::size_t at, std::uint64_t version) noexcept;
  /// Of all parts, in order.
  std::vector<std::uint64_t> all() const;
  void set_all(const std::vector<std::uint64_t>& versions) noexcept;

 private:
  using Count = std::atomic<std::uint64_t>;
  std::size_t part_of(std::size_t byte) const noexcept;

  std::vector<std::size_t> ends_;
  std::unique_ptr<Count[]> counts_;  // by part: writes that touched it and did not cover all
  Count whole_{0};                   // writes that covered all
};

}  // namespace tandem
