// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "world/socket.hpp"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include "tandem/core/check.hpp"

namespace tandem::world {
namespace {

using Clock = std::chrono::steady_clock;
using detail::Descriptor;

constexpr auto kBetweenTries = std::chrono::milliseconds(20);
constexpr int kWaitingConnections = 1024;  // of a listener

std::string text_of(int error) {
  return std::generic_category().message(error);
}

using Found = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

/// @throws InvalidArgument  the host is unknown.
Found look_up(const Address& address, bool is_to_listen) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_NUMERICSERV | (is_to_listen ? AI_PASSIVE : 0);
  addrinfo* found = nullptr;
  const int code =
      ::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &wanted, &found);
  if (code != 0)
    throw InvalidArgument(tandem::detail::concat("the host of ",
                                                 to_string(address),
                                                 " is unknown (",
                                                 ::gai_strerror(code),
                                                 "); check its name, or give its address"));
  return {found, ::freeaddrinfo};
}

Descriptor open_socket(const addrinfo& at) {
  return Descriptor(::socket(at.ai_family, at.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

/// @return  0: it is ready; otherwise an errno, ETIMEDOUT for the deadline
int poll_until(int fd, short events, Deadline deadline) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd one{.fd = fd, .events = events, .revents = 0};
    const int ready =
        ::poll(&one, 1, static_cast<int>(std::clamp<decltype(left)>(left, 0, 1 << 30)));
    if (ready > 0) return 0;
    if (ready == 0) return ETIMEDOUT;
    if (errno != EINTR) return errno;
  }
}

/// @return  0, or why there is no connection (an errno)
int connect_to(int fd, const addrinfo& at, Deadline deadline) {
  if (::connect(fd, at.ai_addr, at.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  if (const int error = poll_until(fd, POLLOUT, deadline); error != 0) return error;
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

void send_at_once(int fd) {
  const int yes = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

}  // namespace

Socket::Socket(Descriptor fd, std::string peer) : fd_(std::move(fd)), peer_(std::move(peer)) {}

Socket Socket::connect(const Address& address, Deadline deadline) {
  const Found found = look_up(address, false);
  for (;;) {
    int error = 0;
    for (const addrinfo* at = found.get(); at != nullptr; at = at->ai_next) {
      Descriptor fd = open_socket(*at);
      error = fd.get() < 0 ? errno : connect_to(fd.get(), *at, deadline);
      if (error != 0) continue;
      send_at_once(fd.get());
      return {std::move(fd), to_string(address)};
    }
    if (Clock::now() + kBetweenTries >= deadline)
      throw Timeout(tandem::detail::concat("nobody answers at ",
                                           to_string(address),
                                           " (",
                                           text_of(error),
                                           "); check the address, that the process there runs, and "
                                           "that no firewall is between"));
    std::this_thread::sleep_for(kBetweenTries);
  }
}

std::string Socket::own_host() const {
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  char host[NI_MAXHOST] = {};
  ::getsockname(fd(), reinterpret_cast<sockaddr*>(&own), &size);
  const int error = ::getnameinfo(
      reinterpret_cast<const sockaddr*>(&own), size, host, sizeof host, nullptr, 0, NI_NUMERICHOST);
  if (error != 0) throw CommError(peer_ + ": " + ::gai_strerror(error));
  return host;
}

void Socket::wait_for(short events, Deadline deadline) const {
  const int error = poll_until(fd(), events, deadline);
  if (error == ETIMEDOUT) throw Timeout(peer_ + " does not answer");
  if (error != 0) throw CommError(peer_ + ": " + text_of(error));
}

void Socket::send(std::span<const char> bytes, Deadline deadline) const {
  while (!bytes.empty()) {
    const ssize_t n = ::send(fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n >= 0)
      bytes = bytes.subspan(static_cast<std::size_t>(n));
    else if (errno == EAGAIN || errno == EWOULDBLOCK)
      wait_for(POLLOUT, deadline);
    else if (errno != EINTR)
      throw CommError(peer_ + " has gone: " + text_of(errno));
  }
}

void Socket::receive(std::span<char> bytes, Deadline deadline) const {
  while (!bytes.empty()) {
    const ssize_t n = ::recv(fd(), bytes.data(), bytes.size(), 0);
    if (n > 0)
      bytes = bytes.subspan(static_cast<std::size_t>(n));
    else if (n == 0)
      throw CommError(peer_ + " has closed the connection");
    else if (errno == EAGAIN || errno == EWOULDBLOCK)
      wait_for(POLLIN, deadline);
    else if (errno != EINTR)
      throw CommError(peer_ + " has gone: " + text_of(errno));
  }
}

Listener::Listener(const Address& address) : address_(address) {
  const Found found = look_up(address, true);
  int error = 0;
  for (const addrinfo* at = found.get(); at != nullptr; at = at->ai_next) {
    Descriptor fd = open_socket(*at);
    const int yes = 1;
    error = 0;
    if (fd.get() < 0 || ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
        ::bind(fd.get(), at->ai_addr, at->ai_addrlen) != 0 ||
        ::listen(fd.get(), kWaitingConnections) != 0) {
      error = errno;
      continue;
    }
    sockaddr_storage bound{};
    socklen_t size = sizeof bound;
    ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&bound), &size);
    address_.port =
        ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6*>(&bound)->sin6_port
                                          : reinterpret_cast<const sockaddr_in*>(&bound)->sin_port);
    fd_ = std::move(fd);
    return;
  }
  throw InvalidArgument(tandem::detail::concat(
      "cannot listen at ",
      to_string(address),
      ": ",
      text_of(error),
      error == EADDRINUSE ? "; another program, or an earlier run, has the port: choose another one"
                          : "; give an address of this machine"));
}

Descriptor Listener::accept() const {
  Descriptor fd(::accept4(this->fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (fd.get() >= 0) send_at_once(fd.get());
  return fd;
}

}  // namespace tandem::world
