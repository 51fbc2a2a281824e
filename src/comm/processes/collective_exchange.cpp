// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "comm/processes/collective_exchange.hpp"

#include <algorithm>
#include <utility>

#include "tandem/core/check.hpp"

namespace tandem::comm {
namespace {

using Kind = Collective::Kind;

/// This process's parts of a collective of equal tensors, as sources or targets of a piece.
Piece empty(const Signature& s) {
  Piece piece;
  piece.dtype = s.dtype;
  piece.count = s.count;
  return piece;
}

}  // namespace

CollectiveExchange::CollectiveExchange(std::shared_ptr<Operation> op,
                                       std::shared_ptr<const Membership> group,
                                       const GroupOptions& options,
                                       std::uint32_t channel,
                                       std::vector<std::optional<ProcessLinks::Native>> natives)
    : op_(std::move(op)),
      group_(std::move(group)),
      options_(options),
      channel_(channel),
      natives_(std::move(natives)),
      own_(*group_, *op_, channel, own_data()),
      others_(static_cast<std::size_t>(group_->size())) {}

bool CollectiveExchange::is_small() const {
  const Signature& s = op_->signatures.front();
  return op_->signatures.size() == 1 && s.algorithm == Signature::kDirect &&
         (s.kind == Kind::all_reduce || s.kind == Kind::broadcast) && s.count > 0 &&
         empty(s).nbytes() <= Opening::kMostData;
}

std::vector<std::byte> CollectiveExchange::own_data() const {
  if (!is_small()) return {};
  const Signature& s = op_->signatures.front();
  Piece sum = empty(s);
  sum.op = s.kind == Kind::broadcast ? ReduceOp::sum : op_in_process(s.op);
  for (const int r : group_->own_ranks()) {
    const Part& part = op_->parts[static_cast<std::size_t>(r)];
    if (s.kind == Kind::all_reduce || r == s.root)
      sum.add_source(static_cast<std::size_t>(r), part.input, part.factor);
  }
  if (sum.sources.empty()) return {};
  std::vector<std::byte> data(sum.nbytes());
  sum.add_target(0, data.data());
  sum.run(0, sum.count);
  return data;
}

void CollectiveExchange::start(ProcessLinks& links) {
  const std::uint64_t tag = opening_tag(group_->group);
  for (int place = 0; place < group_->size(); ++place) {
    if (place == group_->own) continue;
    Other& other = others_[static_cast<std::size_t>(place)];
    const int process = group_->processes[static_cast<std::size_t>(place)];
    other.receives = links.receive(process, tag, other.opening.bytes(), Opening::kMost);
    other.sends = links.send(process, tag, own_.bytes(), std::min(own_.size(), Opening::kMost));
    if (own_.size() > Opening::kMost)
      other.sends_rest = links.send(process,
                                    tag,
                                    static_cast<std::byte*>(own_.bytes()) + Opening::kMost,
                                    own_.size() - Opening::kMost);
  }
}

bool CollectiveExchange::look(int place, Other& other, ProcessLinks& links) {
  bool changed = false;
  for (auto* message : {&other.sends, &other.sends_rest})
    if (*message != nullptr && (*message)->done()) {
      message->reset();
      changed = true;
    }
  if (other.has_come || !other.receives->done()) return changed;
  const bool is_first = !std::exchange(other.has_begun, true);
  if (is_first && other.opening.size() > Opening::kMost) {
    other.opening.grow();
    other.receives = links.receive(group_->processes[static_cast<std::size_t>(place)],
                                   opening_tag(group_->group),
                                   static_cast<std::byte*>(other.opening.bytes()) + Opening::kMost,
                                   other.opening.size() - Opening::kMost);
    return true;
  }
  other.receives.reset();
  other.has_come = true;
  compare(place, other.opening);
  return true;
}

void CollectiveExchange::compare(int place, const Opening& opening) const {
  const std::string text = opening.difference(*group_, *op_, place);
  if (!text.empty()) throw Desync(op_->desync(text));
}

bool CollectiveExchange::have_all_come() const {
  return missing().empty();
}

std::vector<int> CollectiveExchange::missing() const {
  std::vector<int> places;
  for (int place = 0; place < group_->size(); ++place)
    if (place != group_->own && !others_[static_cast<std::size_t>(place)].has_come)
      places.push_back(place);
  return places;
}

bool CollectiveExchange::advance(ProcessLinks& links) {
  bool changed = false;
  for (int place = 0; place < group_->size(); ++place)
    if (place != group_->own) {
      Other& other = others_[static_cast<std::size_t>(place)];
      if (!is_open_ || other.sends != nullptr || other.sends_rest != nullptr)
        changed = look(place, other, links) || changed;
    }
  if (is_open_) return graph_.look(links) || changed;
  if (!have_all_come()) return changed;
  open(links);
  return true;
}

void CollectiveExchange::open(ProcessLinks& links) {
  Channels channels;
  for (int place = 0; place < group_->size(); ++place) {
    const Other& other = others_[static_cast<std::size_t>(place)];
    const bool is_own = place == group_->own;
    channels.by_place.push_back(is_own ? channel_ : other.opening.channel());
    if (!is_own) other.opening.add_parts(*group_, place, *op_);
  }
  is_open_ = true;
  if (is_small()) return finish_small();
  try {
    graph_ = build_graph(
        *op_, *group_, options_, channels, natives_, links.takes_back(), [this](auto nbytes) {
          return room(nbytes);
        });
  } catch (const Desync& e) {
    throw Desync(op_->title() + ": " + e.what());
  }
  graph_.start(links);
}

void* CollectiveExchange::room(std::size_t nbytes) {
  const Device device = group_->ranks.device(group_->own_ranks().front());
  rooms_.push_back(std::make_unique<Buffer>(device, nbytes, Category::communication));
  return rooms_.back()->data();
}

void CollectiveExchange::finish_small() {
  const Signature& s = op_->signatures.front();
  const bool is_copy = s.kind == Kind::broadcast;
  Piece total = empty(s);
  total.op = is_copy ? ReduceOp::sum : op_among_processes(*group_, s.op);
  for (int place = 0; place < group_->size(); ++place) {
    if (is_copy && place != group_->place(s.root)) continue;
    const bool is_own = place == group_->own;
    const auto data = (is_own ? own_ : others_[static_cast<std::size_t>(place)].opening).data();
    total.add_source(static_cast<std::size_t>(place), data.data());
  }
  for (const int r : group_->own_ranks())
    if (!is_copy || r != s.root)
      total.add_target(static_cast<std::size_t>(r), op_->parts[static_cast<std::size_t>(r)].output);
  if (total.targets.empty()) return;
  total.run(0, total.count);
  if (s.op != ReduceOp::avg || total.op == ReduceOp::avg || is_copy) return;
  for (void* target : total.targets) {
    Piece division = empty(s);
    division.divisor = group_->ranks.size();
    division.add_target(0, target);
    division.run(0, division.count);
  }
}

bool CollectiveExchange::done() const noexcept {
  return is_open_ && graph_.done() && std::ranges::all_of(others_, [](const Other& other) {
           return other.sends == nullptr && other.sends_rest == nullptr;
         });
}

void CollectiveExchange::fail(const std::shared_ptr<const Failure>& why) noexcept {
  for (Other& other : others_)
    for (auto* message : {&other.receives, &other.sends, &other.sends_rest})
      message->reset();
  graph_.drop_messages();
  op_->fail(why);
}

void CollectiveExchange::complete() noexcept {
  rooms_.clear();
  op_->finish();
}

}  // namespace tandem::comm
