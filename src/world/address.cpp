// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/world/address.hpp"

#include <charconv>

#include "tandem/core/check.hpp"

namespace tandem::world {

std::string to_string(const Address& address) {
  const bool is_v6 = address.host.find(':') != std::string::npos;
  const std::string host = is_v6 ? '[' + address.host + ']' : address.host;
  return host + ':' + std::to_string(address.port);
}

Address parse_address(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  std::string_view host = text.substr(0, colon == std::string_view::npos ? 0 : colon);
  const std::string_view digits = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  Address address{std::string(host)};
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), address.port);
  TANDEM_CHECK(!host.empty() && !digits.empty() && error == std::errc{} &&
                   end == digits.data() + digits.size(),
               "address '",
               text,
               "': expected HOST:PORT with a port from 0 to 65535, such as node1:29500");
  return address;
}

}  // namespace tandem::world
