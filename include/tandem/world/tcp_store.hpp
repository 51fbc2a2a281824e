// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "tandem/world/address.hpp"
#include "tandem/world/store.hpp"

namespace tandem::world {

class Socket;

/// A store that another process serves: a StoreServer, or a TCPStore of PyTorch, such as the one of
/// torchrun's agent, with whose clients it shares the keys.
///
/// One call runs at a time.
class TcpStore final : public Store {
 public:
  /// Connects, and tries again while nobody listens there.
  ///
  /// @param timeout  of this, and of waits
  /// @throws InvalidArgument  the host is unknown.
  explicit TcpStore(const Address& address, Milliseconds timeout = kTimeout);
  ~TcpStore() override;

  void set(const std::string& key, const std::string& value) override;
  std::string get(const std::string& key) override;
  std::int64_t add(const std::string& key, std::int64_t amount) override;
  std::string compare_set(const std::string& key,
                          const std::string& expected,
                          const std::string& desired) override;
  bool check(const std::vector<std::string>& keys) override;
  using Store::wait;
  void wait(const std::vector<std::string>& keys, Milliseconds timeout) override;
  bool delete_key(const std::string& key) override;
  void append(const std::string& key, const std::string& value) override;
  std::int64_t num_keys() override;
  Milliseconds timeout() const override { return timeout_; }
  void set_timeout(Milliseconds timeout) override { timeout_ = timeout; }
  /// The address, as a number, by which the store's host knows this one.
  std::string local_host() const;
  /// The address, as a number, by which this host knows the store's.
  std::string server_host() const;

 private:
  /// Connects, and asks whether a store answers.
  void open(Milliseconds timeout);
  void wait_locked(const std::vector<std::string>& keys, Milliseconds timeout);
  bool check_locked(const std::vector<std::string>& keys);
  /// When the server has answered what it answers at once, or is gone.
  std::chrono::steady_clock::time_point answer_by() const;

  Address address_;
  std::atomic<Milliseconds> timeout_;
  mutable std::mutex mutex_;  // guards the connection
  std::unique_ptr<Socket> socket_;
};

}  // namespace tandem::world
