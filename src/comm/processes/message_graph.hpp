// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "comm/collective_plan.hpp"
#include "comm/processes/links.hpp"

namespace tandem::comm {

/// What a process does in an operation over processes: messages and pieces of work, each after what
/// it needs.
class MessageGraph {
 public:
  using Task = int;
  static constexpr Task kNone = -1;

  /// @param process  a number in the world; the tag is known to both ends.
  Task add_send(int process, std::uint64_t tag, const void* data, std::size_t nbytes);
  Task add_receive(int process, std::uint64_t tag, void* data, std::size_t nbytes);
  Task add_native(const ProcessLinks::Native& collective);
  Task add_piece(Piece piece);
  /// What only waits for others.
  Task add_gate();
  /// `later` begins when `earlier` is done; kNone is always done.
  void order(Task earlier, Task later);

  /// Begins what waits for nothing.
  void start(ProcessLinks& links);
  /// Looks which messages are done, and begins what comes after them. @return  whether any is
  bool look(ProcessLinks& links);
  /// A piece that may be run now, by any thread; kNone: there is none.
  Task take_piece();
  void run(Task task) const;
  /// A piece has been run.
  void finish(Task task, ProcessLinks& links);

  bool done() const noexcept { return left_ == 0; }
  /// Takes the messages back that are under way.
  void drop_messages();

 private:
  struct Step {
    enum class Kind : std::uint8_t { send, receive, native, piece, gate };
    Kind kind;
    int process = 0;
    std::uint64_t tag = 0;
    void* data = nullptr;
    std::size_t nbytes = 0;
    ProcessLinks::Native native = {};
    Piece piece = {};
    int waits_for = 0;
    std::vector<Task> next = {};
  };
  struct UnderWay {
    Task task;
    std::unique_ptr<ProcessLinks::Message> message;
  };

  Task add(Step step);
  void begin(Task task, ProcessLinks& links);
  void end(Task task, ProcessLinks& links);

  std::vector<Step> steps_;
  std::vector<UnderWay> under_way_;
  std::deque<Task> ready_;  // pieces
  std::size_t left_ = 0;
};

}  // namespace tandem::comm
