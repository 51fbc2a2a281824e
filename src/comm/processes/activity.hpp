// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "comm/failure.hpp"
#include "comm/processes/links.hpp"

namespace tandem::comm {

/// What is under way between processes. Its functions are called with the mesh's lock held, but
/// run(). Once it has ended, it lets go of its operation without that lock.
class Activity {
 public:
  static constexpr int kNoPiece = -1;

  Activity() = default;
  Activity(const Activity&) = delete;
  Activity& operator=(const Activity&) = delete;
  virtual ~Activity() = default;

  /// The number of the group that it belongs to.
  virtual std::uint64_t group() const noexcept = 0;
  /// Whether it is a message from rank to rank, rather than a collective.
  virtual bool is_message() const noexcept { return false; }
  virtual void start(ProcessLinks& links) = 0;
  /// Takes notice of what has arrived, and begins what can begin.
  ///
  /// @return  whether anything has changed
  /// @throws ProcessLinks::Lost  a process that it needs has gone.
  virtual bool advance(ProcessLinks& links) = 0;
  virtual bool done() const noexcept = 0;
  /// A piece of work to be run; kNoPiece: there is none now.
  virtual int take_piece() { return kNoPiece; }
  virtual void run(int /*piece*/) const {}
  virtual void finish(int /*piece*/, ProcessLinks& /*links*/) {}
  /// Ends it without a result, when no piece is running: takes its messages back, and then tells
  /// who waits. Links that take nothing back may use its own memory for longer, but not its ranks'.
  virtual void fail(const std::shared_ptr<const Failure>& why) noexcept = 0;
  /// It is done and has no message left: tells who waits.
  virtual void complete() noexcept = 0;
  /// What messages call a process that it needs: "rank 2 (cpu:0 of process 1 on node1, pid 4711)";
  /// "": it needs it not.
  virtual std::string who(int process) const = 0;
};

}  // namespace tandem::comm
