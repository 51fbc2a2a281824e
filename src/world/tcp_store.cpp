// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/world/tcp_store.hpp"

#include <algorithm>

#include "tandem/core/check.hpp"

#include "world/key_values.hpp"
#include "world/socket.hpp"
#include "world/store_protocol.hpp"

namespace tandem::world {
namespace {

using Clock = std::chrono::steady_clock;

/// The server answers all but a wait at once.
constexpr Store::Milliseconds kSoonestAnswer = std::chrono::seconds(1),
                              kLatestAnswer = std::chrono::seconds(30);

/// PyTorch's clients put a stroke before each key.
std::string shared_key(const std::string& key) {
  return '/' + key;
}

std::vector<std::string> shared_keys(const std::vector<std::string>& keys) {
  std::vector<std::string> all;
  std::ranges::transform(keys, std::back_inserter(all), shared_key);
  return all;
}

void send(const Socket& socket, const MessageWriter& message, Deadline deadline) {
  TANDEM_CHECK(message.bytes().size() <= kMostBytes,
               "store: a message of ",
               message.bytes().size(),
               " bytes; values are to be shorter than ",
               kMostBytes);
  socket.send(message.bytes(), deadline);
}

template <std::size_t N>
std::string receive(const Socket& socket, Deadline deadline) {
  std::string bytes(N, '\0');
  socket.receive(bytes, deadline);
  return bytes;
}

std::uint64_t receive_u64(const Socket& socket, Deadline deadline) {
  return MessageReader(receive<8>(socket, deadline)).u64();
}

std::string receive_text(const Socket& socket, Deadline deadline) {
  const std::uint64_t size = receive_u64(socket, deadline);
  if (size > kMostBytes)
    throw CommError(
        tandem::detail::concat(socket.peer(), " answers with ", size, " bytes; it is no store"));
  std::string text(static_cast<std::size_t>(size), '\0');
  socket.receive(text, deadline);
  return text;
}

std::uint8_t receive_byte(const Socket& socket, Deadline deadline) {
  return static_cast<std::uint8_t>(receive<1>(socket, deadline)[0]);
}

std::string listed(const std::vector<std::string>& keys) {
  constexpr std::size_t kShown = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(keys.size(), kShown); ++i)
    text += (i == 0 ? "'" : ", '") + keys[i] + "'";
  return keys.size() > kShown
             ? text + tandem::detail::concat(" and ", keys.size() - kShown, " more")
             : text;
}

}  // namespace

TcpStore::TcpStore(const Address& address, Milliseconds timeout)
    : address_(address), timeout_(timeout) {
  open(timeout);
}

void TcpStore::open(Milliseconds timeout) {
  socket_ = std::make_unique<Socket>(Socket::connect(address_, Clock::now() + timeout));
  send(*socket_, MessageWriter(Query::validate).u32(kMagic), answer_by());
  constexpr std::uint32_t kNonce = 0x7a6e6474;
  send(*socket_, MessageWriter(Query::ping).u32(kNonce), answer_by());
  const std::string echo = receive<4>(*socket_, std::min(answer_by(), Clock::now() + timeout));
  if (MessageReader(echo).u32() != kNonce)
    throw CommError(to_string(address_) + " answers, but is no store; check the port");
}

TcpStore::~TcpStore() = default;

std::chrono::steady_clock::time_point TcpStore::answer_by() const {
  return Clock::now() + std::clamp(timeout(), kSoonestAnswer, kLatestAnswer);
}

void TcpStore::set(const std::string& key, const std::string& value) {
  const std::scoped_lock lock(mutex_);
  send(*socket_, MessageWriter(Query::set).text(shared_key(key)).text(value), answer_by());
}

std::string TcpStore::get(const std::string& key) {
  const std::scoped_lock lock(mutex_);
  wait_locked({key}, timeout());
  try {
    send(*socket_, MessageWriter(Query::get).text(shared_key(key)), answer_by());
    return receive_text(*socket_, answer_by());
  } catch (const Timeout&) {
    throw;
  } catch (const CommError&) {  // the server drops who asks for a key that is not there
    open(kSoonestAnswer);
    if (check_locked({key})) throw;
  }
  throw CommError(tandem::detail::concat(
      "store at ", socket_->peer(), ": the key '", key, "' was deleted while it was read"));
}

std::int64_t TcpStore::add(const std::string& key, std::int64_t amount) {
  const std::scoped_lock lock(mutex_);
  try {
    send(*socket_, MessageWriter(Query::add).text(shared_key(key)).i64(amount), answer_by());
    return static_cast<std::int64_t>(receive_u64(*socket_, answer_by()));
  } catch (const Timeout&) {
    throw;
  } catch (const CommError&) {  // the server drops who adds to what is not a number
    open(kSoonestAnswer);
    if (!check_locked({key})) throw;
    send(*socket_, MessageWriter(Query::get).text(shared_key(key)), answer_by());
    KeyValues one;
    one.set(key, receive_text(*socket_, answer_by()));
    one.add(key, amount);  // says what is wrong, if that is it
    throw;
  }
}

std::string TcpStore::compare_set(const std::string& key,
                                  const std::string& expected,
                                  const std::string& desired) {
  const std::scoped_lock lock(mutex_);
  send(*socket_,
       MessageWriter(Query::compare_set).text(shared_key(key)).text(expected).text(desired),
       answer_by());
  return receive_text(*socket_, answer_by());
}

bool TcpStore::check_locked(const std::vector<std::string>& keys) {
  send(*socket_, MessageWriter(Query::check).texts(shared_keys(keys)), answer_by());
  return receive_byte(*socket_, answer_by()) == static_cast<std::uint8_t>(Check::ready);
}

bool TcpStore::check(const std::vector<std::string>& keys) {
  const std::scoped_lock lock(mutex_);
  return check_locked(keys);
}

void TcpStore::wait(const std::vector<std::string>& keys, Milliseconds timeout) {
  const std::scoped_lock lock(mutex_);
  wait_locked(keys, timeout);
}

void TcpStore::wait_locked(const std::vector<std::string>& keys, Milliseconds timeout) {
  constexpr auto kReady = static_cast<std::uint8_t>(Waited::ready);
  send(*socket_, MessageWriter(Query::wait).texts(shared_keys(keys)), answer_by());
  try {
    static_cast<void>(receive_byte(*socket_, Clock::now() + timeout));
    return;
  } catch (const Timeout&) {
    send(*socket_, MessageWriter(Query::cancel_wait), answer_by());
  }
  // The keys may have come just now: then that answer is before the one to the cancellation.
  if (receive_byte(*socket_, answer_by()) == kReady) {
    static_cast<void>(receive_byte(*socket_, answer_by()));
    return;
  }
  std::vector<std::string> missing;
  std::ranges::copy_if(
      keys, std::back_inserter(missing), [&](const auto& key) { return !check_locked({key}); });
  throw Timeout(tandem::detail::concat("store at ",
                                       socket_->peer(),
                                       ": after ",
                                       timeout.count(),
                                       " ms nobody has set ",
                                       listed(missing)));
}

bool TcpStore::delete_key(const std::string& key) {
  const std::scoped_lock lock(mutex_);
  send(*socket_, MessageWriter(Query::delete_key).text(shared_key(key)), answer_by());
  return receive_u64(*socket_, answer_by()) != 0;
}

void TcpStore::append(const std::string& key, const std::string& value) {
  const std::scoped_lock lock(mutex_);
  send(*socket_, MessageWriter(Query::append).text(shared_key(key)).text(value), answer_by());
}

std::int64_t TcpStore::num_keys() {
  const std::scoped_lock lock(mutex_);
  send(*socket_, MessageWriter(Query::num_keys), answer_by());
  return static_cast<std::int64_t>(receive_u64(*socket_, answer_by()));
}

std::string TcpStore::local_host() const {
  const std::scoped_lock lock(mutex_);
  return socket_->own_host();
}

std::string TcpStore::server_host() const {
  const std::scoped_lock lock(mutex_);
  return socket_->peer_host();
}

}  // namespace tandem::world
