// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/io/file.hpp"

#include "world/key_values.hpp"
#include "world/store_protocol.hpp"

namespace tandem::world {

/// A client, as the server of a store sees it: what it has sent and what it has not read yet.
class StoreClient {
 public:
  using Clock = std::chrono::steady_clock;

  explicit StoreClient(tandem::detail::Descriptor fd) : fd_(std::move(fd)) {}

  int fd() const noexcept { return fd_.get(); }
  /// Reads what has come, and answers all messages that are whole.
  ///
  /// @param changed  gets the keys that have been set
  /// @return  false: the client has gone, or has sent nonsense
  bool read(KeyValues& values, std::vector<std::string>& changed);
  /// Sends what stands in line. @return  false: the client has gone
  bool write();
  /// Answers a client that waits, if its keys are all there.
  void look(const KeyValues& values, const std::vector<std::string>& changed);

  bool wants_to_write() const noexcept { return !out_.empty(); }
  /// Whether it has said that it knows the protocol.
  bool is_known() const noexcept { return is_known_; }
  Clock::time_point since() const noexcept { return since_; }
  std::size_t bytes() const noexcept { return in_.capacity() + out_.capacity(); }

 private:
  /// Answers the first message, and takes it away. @return  false: it has not come whole yet
  bool answer(KeyValues& values, std::vector<std::string>& changed);
  void answer_question(Query query,
                       const std::vector<std::string>& keys,
                       const KeyValues& values,
                       MessageWriter& out);

  /// Frees what has been sent, once that is more than what stands in line behind it.
  void drop_sent();

  tandem::detail::Descriptor fd_;
  std::string in_, out_;
  std::size_t sent_ = 0;  // bytes of out_
  std::vector<std::string> awaited_;
  bool is_known_ = false;
  Clock::time_point since_ = Clock::now();
};

}  // namespace tandem::world
