// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "comm/operation.hpp"
#include "comm/processes/membership.hpp"

namespace tandem::comm {

/// What a process says to the others when all of its ranks have come to a collective: which one it
/// is, what its ranks have, and, of a small one, the data.
///
/// It is one message of at most kMost bytes. Of a longer one the rest follows.
class Opening {
 public:
  static constexpr std::size_t kMost = std::size_t{16} << 10;
  static constexpr std::size_t kMostData = std::size_t{8} << 10;  ///< bytes of data

  /// Room to receive one.
  Opening() : bytes_(kMost) {}
  /// @param channel  what this process's messages of the collective are told apart by
  /// @param data     bytes of a small collective
  Opening(const Membership& group,
          const Operation& op,
          std::uint32_t channel,
          std::span<const std::byte> data);

  void* bytes() noexcept { return bytes_.data(); }
  /// Bytes of the whole opening, as its beginning says.
  std::size_t size() const noexcept;
  /// Makes room for the rest, behind what has come.
  void grow() { bytes_.resize(size()); }

  std::uint32_t channel() const noexcept;
  std::span<const std::byte> data() const noexcept;
  /// Why it is not of the same collective as `op`; "" if it is.
  ///
  /// @param place  the process that it comes from
  std::string difference(const Membership& group, const Operation& op, int place) const;
  /// Puts what it says of its ranks' parts into `op`, which it does not differ from.
  void add_parts(const Membership& group, int place, Operation& op) const;

 private:
  struct Header;
  const Header& header() const noexcept;
  std::vector<Signature> signatures() const;
  std::span<const std::int64_t> words() const noexcept;

  std::vector<std::byte> bytes_;
};

}  // namespace tandem::comm
