// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "tandem/world/address.hpp"

namespace tandem::world {

/// Serves a store to TcpStores, and to the TCPStores of PyTorch, until it is destroyed. A thread of
/// its own does all of it.
///
/// There is no authentication, as in PyTorch's: listen at an address that only the machines of the
/// job reach. A client that sends nonsense, says nothing for ten seconds before its first message,
/// or does not read its answers is dropped; what they have sent and not read is at most 64 MiB in
/// all. Keys and values are at most 256 MiB in all; who would set more is dropped.
class StoreServer {
 public:
  /// @param address  of this machine; port 0: a free one. No other address is listened at, unless
  ///                 it is a name that this machine knows as a loopback address and others perhaps
  ///                 do not (as Debian's 127.0.1.1): then all addresses are.
  /// @throws InvalidArgument  the host is unknown, or the port is taken.
  explicit StoreServer(const Address& address);
  ~StoreServer();
  StoreServer(const StoreServer&) = delete;
  StoreServer& operator=(const StoreServer&) = delete;

  /// With the port that it has got.
  Address address() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tandem::world
