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

  /// A collective that the library carries out by itself, among all processes.
  struct Native {
    enum class Kind : std::uint8_t { all_reduce, broadcast, reduce };
    enum class Type : std::uint8_t { f32, f64, i32, i64, u8 };
    enum class Op : std::uint8_t { sum, product, min, max };
    Kind kind = Kind::all_reduce;
    Type type = Type::f32;
    Op op = Op::sum;
    int root = 0;                 ///< of a broadcast or reduce
    const void* input = nullptr;  ///< of a broadcast, the root's alone
    void* output = nullptr;       ///< may be the input; of a reduce, the root's alone
    std::size_t count = 0;        ///< of elements
    std::uint32_t tag = 0;        ///< of no other that is under way
    int order = 0;                ///< from open_order(), and
    std::uint32_t number = 0;     ///< its place in it, from 0 on: the same in all processes
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
  /// Whether the library has it; by kind, type, op and count alone, so that all processes agree.
  virtual bool has(const Native& collective) const noexcept = 0;
  /// A new order of collectives, which all processes open at once.
  /// @throws std::exception  not all have come in time.
  virtual int open_order(std::chrono::milliseconds timeout) = 0;
  /// Its end, while it is not done, may end all connections.
  /// @throws Lost
  virtual std::unique_ptr<Message> start(const Native& collective) = 0;
  /// Whether the end of a message that is not done takes it back.
  virtual bool takes_back() const noexcept = 0;
  /// Whether ProcessLinksOptions::moved is called; else somebody has to look again and again.
  virtual bool tells() const noexcept = 0;
};

/// What a plug-in's function "tandem_make_links" takes; all processes call it at once.
struct ProcessLinksOptions {
  int process = 0, processes = 1;
  std::string host;  ///< a name or number of this process's host, by which the others reach it
  std::chrono::milliseconds timeout{};
  std::function<void(const std::string& key, const std::string& value)> set;  ///< of a store
  std::function<std::string(const std::string& key)> get;                     ///< which waits
  /// Called by any thread once a message is done, or a connection lost.
  std::function<void()> moved;
};
/// @throws std::exception  the text says why the processes cannot be connected.
using MakeProcessLinks = ProcessLinks* (*)(const ProcessLinksOptions& options);

}  // namespace tandem::comm
