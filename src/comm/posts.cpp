// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "comm/posts.hpp"

#include <algorithm>

namespace tandem::comm {

using Kind = Collective::Kind;

std::shared_ptr<Operation> Posts::find(const Message& end, Kind kind) const {
  const Kind other_kind = kind == Kind::send ? Kind::recv : Kind::send;
  const auto found = std::ranges::find_if(posts_, [&](const auto& op) {
    const Message& other = *op->message;
    const bool meets = other.from == end.from || other.from == any_source || end.from == any_source;
    return meets && other.to == end.to && other.tag == end.tag &&
           op->signatures.front().kind == other_kind;
  });
  return found == posts_.end() ? nullptr : *found;
}

std::shared_ptr<Operation> Posts::make(const Message& end, const Signature& signature, int rank) {
  auto op = std::make_shared<Operation>();
  op->message = end;
  op->source = end.from;
  op->first_rank = rank;
  op->signatures = {signature};
  op->parts.resize(2);
  return op;
}

void Posts::add(std::shared_ptr<Operation> op) {
  std::erase_if(posts_, [](const auto& other) { return other->is_taken.load(); });
  posts_.push_back(std::move(op));
}

void Posts::remove(const std::shared_ptr<Operation>& op) {
  std::erase(posts_, op);
}

void Posts::fail(const std::shared_ptr<const Failure>& why) {
  for (const auto& op : posts_)
    if (!op->is_taken.exchange(true)) op->fail(why);
  posts_.clear();
}

}  // namespace tandem::comm
