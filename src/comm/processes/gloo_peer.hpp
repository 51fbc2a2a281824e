// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gloo/context.h>
#include <gloo/transport/unbound_buffer.h>

#include "comm/processes/links.hpp"

namespace tandem::comm {

/// The messages between this process and another one over gloo.
///
/// gloo's waits block, and end the connections when their time is over. So threads of the peer wait
/// for heads, for data and for what is sent; messages only look at a flag. A head has the data with
/// it if they are few. Else gloo is asked for them once the head has come: so they go where they
/// belong, and gloo's own thread moves them. A thread that sends holds the lock of the connection
/// while it copies, and gloo's thread spins meanwhile.
class GlooPeer {
 public:
  /// @param moved  called by any thread once a message is done, or the connection lost.
  GlooPeer(gloo::Context& context, int process, std::function<void()> moved);
  ~GlooPeer();
  GlooPeer(const GlooPeer&) = delete;
  GlooPeer& operator=(const GlooPeer&) = delete;

  std::unique_ptr<ProcessLinks::Message> send(std::uint64_t tag,
                                              const void* data,
                                              std::size_t nbytes);
  std::unique_ptr<ProcessLinks::Message> receive(std::uint64_t tag, void* data, std::size_t nbytes);
  /// @throws ProcessLinks::Lost  the connection has gone.
  void check() const;
  /// Closes the connection.
  void lose(const std::string& why);

 private:
  struct Head {
    std::uint64_t tag = 0;
    std::uint64_t nbytes = 0;  // of the message
    std::uint64_t slot = 0;    // gloo's, of the data; 0: they follow the head
  };
  using Buffer = gloo::transport::UnboundBuffer;
  /// Memory that gloo receives heads into.
  struct Place {
    std::vector<char> bytes;
    std::unique_ptr<Buffer> buffer;
  };
  /// A message that gloo sends.
  struct Outgoing {
    std::vector<char> head;
    std::unique_ptr<Buffer> head_buffer, data_buffer;
    std::shared_ptr<std::atomic<bool>> sent;
  };
  /// A message that is awaited; without a target its head has come before anybody asked for it.
  struct Incoming {
    char* target = nullptr;
    std::size_t room = 0;
    bool has_head = false;
    bool has_data = false;
    bool is_direct = false;       // gloo writes to the target
    std::vector<char> kept = {};  // else the data
    std::atomic<bool> done{false};
  };
  /// Data that gloo receives.
  struct Arrival {
    std::uint64_t tag;
    std::unique_ptr<Buffer> buffer;
    std::shared_ptr<Incoming> message;
  };
  class Sent;
  class Received;

  void post(Place& place) const;
  void receive_heads();
  void receive_data();
  void reap();
  void take(const Head& head, const char* data);
  void finish(std::uint64_t tag, const std::shared_ptr<Incoming>& message);
  void give_up(std::uint64_t tag, const std::shared_ptr<Incoming>& message);
  void put(std::uint64_t tag,
           const void* data,
           std::size_t nbytes,
           std::shared_ptr<std::atomic<bool>> sent);
  /// Waits until gloo has done with a message's memory; closes the connection if it does not end.
  void release(const std::atomic<bool>& done, const char* why);

  gloo::Context& context_;
  const int process_;
  const std::function<void()> moved_;
  std::vector<Place> heads_;

  std::atomic<bool> is_lost_{false};
  std::atomic<bool> ends_{false};
  std::string why_;  // set before is_lost_

  std::mutex receiving_;  // guards what follows
  std::condition_variable has_arrival_;
  std::map<std::uint64_t, std::deque<std::shared_ptr<Incoming>>> incoming_;  // by tag, oldest first
  std::deque<Arrival> arrivals_;  // in the order in which gloo sends them

  std::mutex sending_;  // guards what follows; held while the connection is closed
  std::condition_variable has_sent_;
  std::deque<Outgoing> outgoing_;  // not known to have left yet
  std::uint64_t slot_;             // of the next data

  std::thread head_receiver_, data_receiver_, reaper_;
};

}  // namespace tandem::comm
