// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <span>
#include <string>

#include "tandem/core/error.hpp"
#include "tandem/io/file.hpp"
#include "tandem/world/address.hpp"

struct addrinfo;

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
  /// Connects, and does not try again.
  static Socket connect_once(const Address& address, Deadline deadline);

  void send(std::span<const char> bytes, Deadline deadline) const;
  /// Fills `bytes`.
  void receive(std::span<char> bytes, Deadline deadline) const;

  int fd() const noexcept { return fd_.get(); }
  const std::string& peer() const noexcept { return peer_; }
  /// This end's address, as a number.
  std::string own_host() const;
  /// The other end's address, as a number.
  std::string peer_host() const;

 private:
  void wait_for(short events, Deadline deadline) const;

  detail::Descriptor fd_;
  std::string peer_;
};

/// Whether an address, as a number, is of this host alone.
bool is_loopback(const std::string& host);

/// The port of an address is another program's.
class PortTaken : public InvalidArgument {
 public:
  using InvalidArgument::InvalidArgument;
};

/// Listens at an address.
///
/// A host's own name may be a loopback address to itself, as 127.0.1.1 is on Debian, and another
/// one to other hosts. So at such a name, other than localhost, all addresses of the host are
/// listened at.
class Listener {
 public:
  /// @param address  port 0: a free one.
  /// @throws PortTaken        the port is another program's.
  /// @throws InvalidArgument  the host is unknown, or none of this machine.
  explicit Listener(const Address& address);

  const Address& address() const noexcept { return address_; }
  int fd() const noexcept { return fd_.get(); }
  /// The next connection; a descriptor of -1: there is none now, and errno says why.
  detail::Descriptor accept() const;

 private:
  /// Listens at one of the addresses. @return  0, or why not (an errno)
  int open(const addrinfo& at);

  detail::Descriptor fd_;
  Address address_;
};

}  // namespace tandem::world
