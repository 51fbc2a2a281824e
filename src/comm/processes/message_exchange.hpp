// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tandem/runtime/buffer.hpp"

#include "comm/operation.hpp"
#include "comm/processes/activity.hpp"
#include "comm/processes/mailbox.hpp"

namespace tandem::comm {

/// One end of a message whose other end is, or may be, in another process. The sender announces it;
/// the receiver takes what was announced first.
class MessageExchange final : public Activity {
 public:
  /// @param mailbox  of the receiver's process
  /// @param channel  of the sender
  MessageExchange(std::shared_ptr<Operation> op,
                  std::shared_ptr<const Membership> group,
                  std::shared_ptr<Mailbox> mailbox,
                  std::uint32_t channel);

  std::uint64_t group() const noexcept override { return group_->group; }
  bool is_message() const noexcept override { return true; }
  void start(ProcessLinks& links) override;
  /// @throws Desync  the ends differ.
  bool advance(ProcessLinks& links) override;
  bool done() const noexcept override;
  void fail(const std::shared_ptr<const Failure>& why) noexcept override;
  void complete() noexcept override;
  std::string who(int process) const override;

 private:
  bool sends() const noexcept { return op_->signatures.front().kind == Collective::Kind::send; }
  std::size_t nbytes() const noexcept;
  /// Memory for the data that links may use as long as this lives.
  void* room(const ProcessLinks& links, void* data);
  bool match(ProcessLinks& links);
  void stop_waiting() noexcept;

  const std::shared_ptr<Operation> op_;
  const std::shared_ptr<const Membership> group_;
  const std::shared_ptr<Mailbox> mailbox_;
  Announcement announcement_;
  std::unique_ptr<Buffer> room_;
  char taken_ = 0;  // what the receiver says when it has found the message to be what it expects
  std::unique_ptr<ProcessLinks::Message> announces_, moves_, acknowledges_;
  std::optional<Mailbox::Ticket> ticket_;  // of a receiver that waits for its message
  bool is_matched_ = false;
  bool is_local_ = false;  // a rank of this process was first
};

}  // namespace tandem::comm
