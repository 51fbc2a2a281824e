// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "world/socket.hpp"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <netdb.h>
#include <netinet/in.h>
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

/// @param flags  of getaddrinfo; with AI_PASSIVE all addresses of this machine are found
/// @throws InvalidArgument  the host is unknown.
Found look_up(const Address& address, int flags = 0) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_NUMERICSERV | flags;
  addrinfo* found = nullptr;
  const char* const host = (flags & AI_PASSIVE) != 0 ? nullptr : address.host.c_str();
  const int code = ::getaddrinfo(host, std::to_string(address.port).c_str(), &wanted, &found);
  if (code != 0)
    throw InvalidArgument(tandem::detail::concat("the host of ",
                                                 to_string(address),
                                                 " is unknown (",
                                                 ::gai_strerror(code),
                                                 "); check its name, or give its address"));
  return {found, ::freeaddrinfo};
}

bool is_loopback(const sockaddr& at) {
  if (at.sa_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(at);
    return ntohl(v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
  }
  if (at.sa_family != AF_INET6) return false;
  const in6_addr& v6 = reinterpret_cast<const sockaddr_in6&>(at).sin6_addr;
  return IN6_IS_ADDR_LOOPBACK(&v6) ||
         (IN6_IS_ADDR_V4MAPPED(&v6) && v6.s6_addr[12] == IN_LOOPBACKNET);
}

/// Whether the host of an address is a name that means this host alone here, and perhaps not
/// elsewhere.
bool is_own_name(const std::string& host) {
  const bool is_everywhere = host == "localhost" || host.starts_with("localhost.") ||
                             host.ends_with(".localhost") || host.starts_with("ip6-l");
  if (is_everywhere) return false;
  addrinfo number{};
  number.ai_flags = AI_NUMERICHOST;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), nullptr, &number, &found) == 0) {
    ::freeaddrinfo(found);
    return false;
  }
  const Found named = look_up({host, 0});
  for (const addrinfo* at = named.get(); at != nullptr; at = at->ai_next)
    if (is_loopback(*at->ai_addr)) return true;
  return false;
}

std::string number_of(const sockaddr_storage& address, socklen_t size, const std::string& peer) {
  char host[NI_MAXHOST] = {};
  const int error = ::getnameinfo(reinterpret_cast<const sockaddr*>(&address),
                                  size,
                                  host,
                                  sizeof host,
                                  nullptr,
                                  0,
                                  NI_NUMERICHOST);
  if (error != 0) throw CommError(peer + ": " + ::gai_strerror(error));
  constexpr std::string_view kMapped = "::ffff:";  // IPv4 at a listener of both
  const std::string_view number = host;
  const bool is_v4 = number.starts_with(kMapped) && number.find('.') != std::string_view::npos;
  return std::string(is_v4 ? number.substr(kMapped.size()) : number);
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

/// @return  none, with an errno: nobody answers
std::optional<Socket> connect_to_any(const addrinfo* found,
                                     const Address& address,
                                     Deadline deadline,
                                     int& error) {
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    Descriptor fd = open_socket(*at);
    error = fd.get() < 0 ? errno : connect_to(fd.get(), *at, deadline);
    if (error != 0) continue;
    send_at_once(fd.get());
    return Socket(std::move(fd), to_string(address));
  }
  return std::nullopt;
}

[[noreturn]] void throw_no_answer(const Address& address, int error) {
  throw Timeout(tandem::detail::concat("nobody answers at ",
                                       to_string(address),
                                       " (",
                                       text_of(error),
                                       "); check the address, that the process there runs, and "
                                       "that no firewall is between"));
}

}  // namespace

Socket::Socket(Descriptor fd, std::string peer) : fd_(std::move(fd)), peer_(std::move(peer)) {}

Socket Socket::connect(const Address& address, Deadline deadline) {
  const Found found = look_up(address);
  for (int error = 0;; std::this_thread::sleep_for(kBetweenTries)) {
    if (auto socket = connect_to_any(found.get(), address, deadline, error))
      return *std::move(socket);
    if (Clock::now() + kBetweenTries >= deadline) throw_no_answer(address, error);
  }
}

Socket Socket::connect_once(const Address& address, Deadline deadline) {
  int error = 0;
  auto socket = connect_to_any(look_up(address).get(), address, deadline, error);
  if (!socket) throw_no_answer(address, error);
  return *std::move(socket);
}

std::string Socket::own_host() const {
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  ::getsockname(fd(), reinterpret_cast<sockaddr*>(&own), &size);
  return number_of(own, size, peer_);
}

std::string Socket::peer_host() const {
  sockaddr_storage other{};
  socklen_t size = sizeof other;
  ::getpeername(fd(), reinterpret_cast<sockaddr*>(&other), &size);
  return number_of(other, size, peer_);
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

bool is_loopback(const std::string& host) {
  addrinfo number{};
  number.ai_flags = AI_NUMERICHOST;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), nullptr, &number, &found) != 0) return false;
  const Found owned{found, ::freeaddrinfo};
  return is_loopback(*owned->ai_addr);
}

Listener::Listener(const Address& address) : address_(address) {
  const bool at_all = is_own_name(address.host);
  const Found found = look_up(address, at_all ? AI_PASSIVE : 0);
  int error = EADDRNOTAVAIL;
  // A listener of IPv6 has the addresses of IPv4 too; where there is no IPv6, those are left.
  const std::vector<int> families =
      at_all ? std::vector<int>{AF_INET6, AF_INET} : std::vector<int>{AF_UNSPEC};
  for (const int family : families) {
    for (const addrinfo* at = found.get(); at != nullptr; at = at->ai_next) {
      if (family != AF_UNSPEC && at->ai_family != family) continue;
      error = open(*at);
      if (error == 0) return;
    }
  }
  if (error == EADDRINUSE)
    throw PortTaken(tandem::detail::concat(
        "cannot listen at ",
        to_string(address),
        ": ",
        text_of(error),
        "; another program, or an earlier run, has the port: choose another one"));
  throw InvalidArgument(tandem::detail::concat("cannot listen at ",
                                               to_string(address),
                                               ": ",
                                               text_of(error),
                                               "; give an address of this machine"));
}

int Listener::open(const addrinfo& at) {
  Descriptor fd = open_socket(at);
  const int yes = 1, no = 0;
  if (fd.get() < 0 || ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0)
    return errno;
  if (at.ai_family == AF_INET6) ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
  if (::bind(fd.get(), at.ai_addr, at.ai_addrlen) != 0 ||
      ::listen(fd.get(), kWaitingConnections) != 0)
    return errno;
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&bound), &size);
  address_.port =
      ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6*>(&bound)->sin6_port
                                        : reinterpret_cast<const sockaddr_in*>(&bound)->sin_port);
  fd_ = std::move(fd);
  return 0;
}

Descriptor Listener::accept() const {
  Descriptor fd(::accept4(this->fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (fd.get() >= 0) send_at_once(fd.get());
  return fd;
}

}  // namespace tandem::world
