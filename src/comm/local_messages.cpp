// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Messages between two ranks of a local group: a send and a recv meet as the ranks of a collective
// do, in an operation of their own.

#include <algorithm>
#include <utility>

#include "tandem/core/check.hpp"

#include "comm/local_group.hpp"

namespace tandem::comm {

using Kind = Collective::Kind;

std::shared_ptr<Operation> LocalGroup::find_post(const Message& message, Kind kind) const {
  const auto found = std::ranges::find_if(posts_, [&](const auto& op) {
    const Message& other = *op->message;
    const bool meets =
        other.from == message.from || other.from == any_source || message.from == any_source;
    return meets && other.to == message.to && other.tag == message.tag &&
           op->signatures.front().kind == kind;
  });
  return found == posts_.end() ? nullptr : *found;
}

std::shared_ptr<Operation> LocalGroup::post(int rank,
                                            const Signature& signature,
                                            const Message& message,
                                            Part part) {
  const bool sends = signature.kind == Kind::send;
  std::shared_ptr<Operation> op;
  {
    const std::scoped_lock lock(mutex_);
    if (failure_ != nullptr)
      failure_->raise(detail::concat(name(signature.kind), " with tag ", message.tag));
    op = find_post(message, sends ? Kind::recv : Kind::send);
    const bool first = op == nullptr;
    if (!first && sends) op->message->from = rank;  // where it waits for anyone's
    if (first) {
      op = std::make_shared<Operation>();
      op->message = message;
      op->first_rank = rank;
      op->signatures = {signature};
      op->parts.resize(2);
      posts_.push_back(op);
    }
    if (first ||
        op->message->from != message.to)  // to itself a rank has both ends: one to the record
      note_start(*op, rank, signature, 1, part);
    if (!first) {
      check_ends(*op, rank, signature);
      std::erase(posts_, op);
    }
    op->parts[sends ? 0 : 1] = std::move(part);
    if (first) return op;
    start(*op,
          make_message_plan(signature, op->parts[0], op->parts[1], op->message->from, message.to));
  }
  run(*op);
  return op;
}

void LocalGroup::check_ends(const Operation& op, int rank, Signature signature) {
  const Signature& first = op.signatures.front();
  signature.kind = first.kind;  // the ends have each other's kind and rank
  signature.root = first.root;
  const std::string text = difference(first, rank_name(op.first_rank), signature, rank_name(rank));
  if (text.empty()) return;
  fail(Failure::Kind::desync, detail::concat(op.title(), ": ", text, "; the two ends must agree"));
  failure_->raise(op.title());
}

}  // namespace tandem::comm
