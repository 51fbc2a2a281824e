// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/world/store_server.hpp"

#include <algorithm>
#include <cerrno>
#include <list>
#include <thread>

#include <poll.h>

#include "tandem/core/check.hpp"

#include "world/key_values.hpp"
#include "world/socket.hpp"
#include "world/store_client.hpp"
#include "world/wake_up.hpp"

namespace tandem::world {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kSilence = std::chrono::seconds(10);  // before a client's first message
constexpr auto kLook = std::chrono::milliseconds(500);
constexpr std::size_t kMostHeld = std::size_t{64} << 20;  // bytes that wait, of all clients

}  // namespace

class StoreServer::Impl {
 public:
  explicit Impl(const Address& address) : listener_(address) {
    thread_ = std::thread([this] { run(); });
  }
  ~Impl() {
    wake_.call();
    thread_.join();
  }

  const Address& address() const { return listener_.address(); }

 private:
  void run() {
    while (!wait()) {
      accept_all();
      serve();
      drop_silent();
    }
  }

  /// @return  whether it is to end
  bool wait() {
    const short calls = has_room_ ? POLLIN : short{0};
    polls_.assign({{wake_.fd(), POLLIN, 0}, {listener_.fd(), calls, 0}});
    has_room_ = true;
    for (const StoreClient& client : clients_) {
      const auto events = static_cast<short>(client.wants_to_write() ? POLLIN | POLLOUT : POLLIN);
      polls_.push_back({client.fd(), events, 0});
    }
    ::poll(polls_.data(), polls_.size(), static_cast<int>(kLook.count()));
    return polls_[0].revents != 0;
  }

  void accept_all() {
    if (polls_[1].revents == 0) return;
    for (;;) {
      auto fd = listener_.accept();
      if (fd.get() >= 0) {
        clients_.emplace_back(std::move(fd));
        continue;
      }
      if (errno == EMFILE || errno == ENFILE) make_room();
      return;
    }
  }

  /// No descriptor is left: a client that has not said who it is goes; if there is none, whoever
  /// calls waits for a while.
  void make_room() {
    const auto unknown =
        std::ranges::find_if(clients_, [](const auto& c) { return !c.is_known(); });
    has_room_ = unknown != clients_.end();
    if (has_room_) clients_.erase(unknown);
  }

  void serve() {
    std::vector<std::string> changed;
    auto client = clients_.begin();
    for (std::size_t i = 2; i < polls_.size() && client != clients_.end(); ++i) {
      const auto now = client++;
      if (now->fd() != polls_[i].fd) {  // one before it was dropped to make room
        --client;
        continue;
      }
      const bool has_come = (polls_[i].revents & (POLLIN | POLLHUP | POLLERR)) != 0;
      if (has_come && !now->read(values_, changed)) clients_.erase(now);
    }
    if (!changed.empty())
      for (StoreClient& waiting : clients_)
        waiting.look(values_, changed);
    std::erase_if(clients_, [](StoreClient& c) { return c.wants_to_write() && !c.write(); });
    drop_largest();
  }

  void drop_silent() {
    const auto oldest = Clock::now() - kSilence;
    std::erase_if(clients_,
                  [&](const StoreClient& c) { return !c.is_known() && c.since() < oldest; });
  }

  void drop_largest() {
    std::size_t held = 0;
    for (const StoreClient& client : clients_)
      held += client.bytes();
    while (held > kMostHeld && !clients_.empty()) {
      const auto largest = std::ranges::max_element(clients_, {}, &StoreClient::bytes);
      held -= largest->bytes();
      clients_.erase(largest);
    }
  }

  Listener listener_;
  WakeUp wake_{"store"};
  KeyValues values_;
  std::list<StoreClient> clients_;
  std::vector<pollfd> polls_;
  bool has_room_ = true;  // else the next wait does not listen
  std::thread thread_;
};

StoreServer::StoreServer(const Address& address) : impl_(std::make_unique<Impl>(address)) {}
StoreServer::~StoreServer() = default;

Address StoreServer::address() const {
  return impl_->address();
}

}  // namespace tandem::world
