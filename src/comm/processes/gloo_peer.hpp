// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
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
/// gloo's waits block, and end the connections when their time is over. So a thread of the peer
/// waits for what arrives, and another one for what is sent; messages only look at a flag. A
/// message is cut into chunks: a head, which has the data if they are few, and the data.
class GlooPeer {
 public:
  GlooPeer(gloo::Context& context, int process);
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
    std::uint64_t total = 0;   // bytes of the message
    std::uint64_t offset = 0;  // of the chunk's data
    std::uint64_t nbytes = 0;  // of the chunk's data
  };
  using Buffer = gloo::transport::UnboundBuffer;
  /// Memory that gloo receives into.
  struct Place {
    std::vector<char> bytes;
    std::unique_ptr<Buffer> buffer;
  };
  /// A chunk that gloo sends.
  struct Chunk {
    std::vector<char> head;
    std::unique_ptr<Buffer> head_buffer, data_buffer;
    std::shared_ptr<std::atomic<bool>> sent;  // set when the last chunk of a message is sent
  };
  /// A message that is awaited; without a target it has come before anybody asked for it.
  struct Incoming {
    char* target = nullptr;
    std::size_t room = 0;
    std::vector<char> kept = {};
    std::size_t received = 0;
    std::uint64_t total = 0;
    bool has_begun = false;
    std::atomic<bool> done{false};
  };
  class Sent;
  class Received;

  void send_chunks(std::uint64_t tag,
                   const char* bytes,
                   std::size_t nbytes,
                   const std::shared_ptr<std::atomic<bool>>& sent);
  void post(Place& place, std::uint64_t slot) const;
  void receive_all();
  void reap_all();
  void deliver(const Head& head, const char* data);
  void forget(std::uint64_t tag, const std::shared_ptr<Incoming>& incoming);

  gloo::Context& context_;
  const int process_;
  std::vector<Place> heads_, chunks_;

  std::atomic<bool> is_lost_{false};
  std::atomic<bool> ends_{false};
  std::string why_;  // set before is_lost_

  std::mutex receiving_;  // guards what follows; held while data is copied
  std::map<std::uint64_t, std::deque<std::shared_ptr<Incoming>>> incoming_;  // by tag, oldest first

  std::mutex sending_;  // guards what follows
  std::condition_variable has_sent_;
  std::deque<Chunk> chunks_sent_;  // not known to have left yet

  std::thread receiver_, reaper_;
};

}  // namespace tandem::comm
