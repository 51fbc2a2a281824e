// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace tandem {

/// The versions of the parts of a buffer. Each part belongs to another tensor.
///
/// Reading and counting are thread-safe.
/// @cost  a binary search, and one addition per part that is touched; one addition for a write to
///        all bytes.
class PartVersions {
 public:
  /// @param ends  where the parts end, in bytes, ascending.
  explicit PartVersions(std::vector<std::size_t> ends);

  /// Notes a write to bytes [begin, end).
  void bump(std::size_t begin, std::size_t end) noexcept;
  /// The version of bytes [begin, end), which grows with every write to a part that they touch.
  std::uint64_t version(std::size_t begin, std::size_t end) const noexcept;
  /// Sets the version of the part that contains byte `at`.
  void set(std::size_t at, std::uint64_t version) noexcept;
  /// The versions of all parts, in order.
  std::vector<std::uint64_t> all() const;
  void set_all(const std::vector<std::uint64_t>& versions) noexcept;

 private:
  using Count = std::atomic<std::uint64_t>;
  std::size_t part_of(std::size_t byte) const noexcept;

  std::vector<std::size_t> ends_;
  std::unique_ptr<Count[]> counts_;  // by part: writes that touched it but did not cover the buffer
  Count whole_{0};                   // writes that covered the whole buffer
};

}  // namespace tandem
