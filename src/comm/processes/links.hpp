// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

namespace tandem::comm {

/// Moves bytes between the processes of a world. A plug-in has the class that does it, so this file
/// uses nothing else of tandem.
///
/// One thread at a time uses it and its messages.
class ProcessLinks {
 public:
  /// A connection has gone. The others go on.
  struct Lost : std::runtime_error {
    Lost(int who, const std::string& text) : std::runtime_error(text), process(who) {}
    int process;
  };
  /// A message that is under way. Its end takes it back, where links can; else its memory has to
  /// stay until it is done.
  class Message {
   public:
    Message() = default;
    Message(const Message&) = delete;
    Message& operator=(const Message&) = delete;
    virtual ~Message() = default;
    /// @throws Lost
    virtual bool done() = 0;
  };

  ProcessLinks() = default;
  ProcessLinks(const ProcessLinks&) = delete;
  ProcessLinks& operator=(const ProcessLinks&) = delete;
  virtual ~ProcessLinks() = default;

  /// @param tag  Messages of a tag arrive in the order in which they are sent.
  /// @throws Lost
  virtual std::unique_ptr<Message> send(int process,
                                        std::uint64_t tag,
                                        const void* data,
                                        std::size_t nbytes) = 0;
  /// @param nbytes  as many as are sent, or more.
  /// @throws Lost
  virtual std::unique_ptr<Message> receive(int process,
                                           std::uint64_t tag,
                                           void* data,
                                           std::size_t nbytes) = 0;
  /// Whether the end of a message that is not done takes it back.
  virtual bool takes_back() const noexcept = 0;
};

/// What a plug-in's function "tandem_make_links" takes; all processes call it at once.
struct ProcessLinksOptions {
  int process = 0, processes = 1;
  std::string host;  ///< a name or number of this process's host, by which the others reach it
  std::chrono::milliseconds timeout{};
  std::function<void(const std::string& key, const std::string& value)> set;  ///< of a store
  std::function<std::string(const std::string& key)> get;                     ///< which waits
};
/// @throws std::exception  the text says why the processes cannot be connected.
using MakeProcessLinks = ProcessLinks* (*)(const ProcessLinksOptions& options);

}  // namespace tandem::comm
