// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "tandem/world/address.hpp"

namespace tandem::world {

/// Serves a store to TcpStores, and to the TCPStores of PyTorch, until it is destroyed. A thread of
/// its own does all of it.
///
/// Nobody proves who he is, as with PyTorch's: listen at an address that only the machines of the
/// job reach. A client that sends nonsense, says nothing for ten seconds before its first message,
/// or does not read its answers is dropped; together they hold at most 64 MiB.
class StoreServer {
 public:
  /// @param address  of this machine, and none else is listened at; port 0: a free one.
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
