// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <span>
#include <string>

#include "tandem/io/file.hpp"
#include "tandem/world/address.hpp"

namespace tandem::world {

using Deadline = std::chrono::steady_clock::time_point;

/// A stream connection. It never blocks beyond a deadline, and is closed at exec.
///
/// @throws Timeout    the deadline has passed.
/// @throws CommError  the other side has closed it, or the system reports an error; the text names
///                    the other side.
class Socket {
 public:
  /// Takes over a connected descriptor.
  Socket(detail::Descriptor fd, std::string peer);
  /// Connects, and tries again while nobody listens there.
  static Socket connect(const Address& address, Deadline deadline);

  void send(std::span<const char> bytes, Deadline deadline) const;
  /// Fills `bytes`.
  void receive(std::span<char> bytes, Deadline deadline) const;

  int fd() const noexcept { return fd_.get(); }
  const std::string& peer() const noexcept { return peer_; }
  /// This end's address, as a number.
  std::string own_host() const;

 private:
  void wait_for(short events, Deadline deadline) const;

  detail::Descriptor fd_;
  std::string peer_;
};

/// Listens at an address.
class Listener {
 public:
  /// @param address  port 0: a free one.
  /// @throws InvalidArgument  the host is unknown, or the port is taken; the text says so.
  explicit Listener(const Address& address);

  const Address& address() const noexcept { return address_; }
  int fd() const noexcept { return fd_.get(); }
  /// The next connection; a descriptor of -1: there is none now, and errno says why.
  detail::Descriptor accept() const;

 private:
  detail::Descriptor fd_;
  Address address_;
};

}  // namespace tandem::world
