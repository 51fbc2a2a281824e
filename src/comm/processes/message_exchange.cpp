// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "comm/processes/message_exchange.hpp"

#include <cstring>
#include <utility>

#include "tandem/core/check.hpp"

#include "comm/processes/graph_builder.hpp"

namespace tandem::comm {

using Kind = Collective::Kind;

MessageExchange::MessageExchange(std::shared_ptr<Operation> op,
                                 std::shared_ptr<const Membership> group,
                                 std::shared_ptr<Mailbox> mailbox,
                                 std::uint32_t channel)
    : op_(std::move(op)), group_(std::move(group)), mailbox_(std::move(mailbox)) {
  announcement_ = {.from = op_->message->from,
                   .to = op_->message->to,
                   .tag = op_->message->tag,
                   .channel = channel,
                   .signature = op_->signatures.front()};
}

std::size_t MessageExchange::nbytes() const noexcept {
  const Signature& s = op_->signatures.front();
  return static_cast<std::size_t>(s.count) * itemsize(s.dtype);
}

void* MessageExchange::room(const ProcessLinks& links, void* data) {
  if (links.takes_back()) return data;
  const Device device = group_->ranks.device(group_->own_ranks().front());
  room_ = std::make_unique<Buffer>(device, nbytes(), Category::communication);
  return room_->data();
}

void MessageExchange::start(ProcessLinks& links) {
  if (!sends()) {
    const Message& message = *op_->message;
    ticket_ = mailbox_->wait_for({message.from, message.to, message.tag});
    return;
  }
  const int process = group_->ranks.process(announcement_.to);
  announces_ =
      links.send(process, announcement_tag(group_->group), &announcement_, sizeof announcement_);
  acknowledges_ =
      links.receive(process, message_tag(announcement_.channel, 1), &taken_, sizeof taken_);
  if (nbytes() > 0) {
    void* const own = const_cast<void*>(op_->parts[0].input);
    void* const data = room(links, own);
    if (data != own) std::memcpy(data, own, nbytes());
    moves_ = links.send(process, message_tag(announcement_.channel, 0), data, nbytes());
  }
  is_matched_ = true;
}

bool MessageExchange::match(ProcessLinks& links) {
  const Message& message = *op_->message;
  if (op_->is_taken.load() && op_->state.load() != Operation::State::running) {
    is_local_ = true;
    stop_waiting();
    return true;
  }
  mailbox_->look(links);
  const auto found = mailbox_->take(*ticket_);
  if (!found) return false;
  if (message.from == any_source && op_->is_taken.exchange(true)) {
    mailbox_->put_back(*found);
    is_local_ = true;
    stop_waiting();
    return true;
  }
  stop_waiting();
  Signature expected = op_->signatures.front();
  expected.kind = Kind::send;
  expected.root = found->signature.root;
  const std::string text = difference(
      found->signature, group_->ranks.name(found->from), expected, group_->ranks.name(message.to));
  if (!text.empty()) throw Desync(op_->desync(text));
  if (message.from == any_source) {
    op_->source = found->from;
    CollectivePlan plan;
    plan.slices = 1;
    op_->start(std::move(plan));
  }
  const int process = group_->ranks.process(found->from);
  acknowledges_ = links.send(process, message_tag(found->channel, 1), &taken_, sizeof taken_);
  if (nbytes() > 0) {
    void* const data = room(links, op_->parts[1].output);
    moves_ = links.receive(process, message_tag(found->channel, 0), data, nbytes());
  }
  is_matched_ = true;
  return true;
}

bool MessageExchange::advance(ProcessLinks& links) {
  if (is_local_) return false;
  if (!is_matched_) return match(links);
  bool changed = false;
  for (auto* message : {&announces_, &moves_, &acknowledges_})
    if (*message != nullptr && (*message)->done()) {
      message->reset();
      changed = true;
    }
  return changed;
}

bool MessageExchange::done() const noexcept {
  return is_local_ ||
         (is_matched_ && announces_ == nullptr && moves_ == nullptr && acknowledges_ == nullptr);
}

void MessageExchange::stop_waiting() noexcept {
  if (ticket_) mailbox_->forget(*ticket_);
  ticket_.reset();
}

void MessageExchange::fail(const std::shared_ptr<const Failure>& why) noexcept {
  stop_waiting();
  if (is_local_ || (op_->is_taken.load() && !is_matched_)) return;  // the two ranks go on
  for (auto* message : {&announces_, &moves_, &acknowledges_})
    message->reset();
  op_->fail(why);
}

void MessageExchange::complete() noexcept {
  if (is_local_) return;
  if (!sends() && room_ != nullptr) std::memcpy(op_->parts[1].output, room_->data(), nbytes());
  room_.reset();
  op_->finish();
}

std::string MessageExchange::who(int process) const {
  const int other = sends() ? announcement_.to : op_->source.load();
  if (other != any_source && group_->ranks.process(other) != process) return "";
  return group_->who(process);
}

}  // namespace tandem::comm
