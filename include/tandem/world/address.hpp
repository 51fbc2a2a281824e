// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tandem::world {

/// A place to connect to or to listen at.
struct Address {
  std::string host;  ///< a name, or a number of IPv4 or IPv6
  std::uint16_t port = 0;

  bool operator==(const Address&) const = default;
};

/// "node1:29500", "[::1]:29500".
std::string to_string(const Address& address);
/// @throws InvalidArgument  it is not HOST:PORT with a port from 0 to 65535.
Address parse_address(std::string_view text);

}  // namespace tandem::world
