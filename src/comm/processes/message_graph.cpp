// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "comm/processes/message_graph.hpp"

#include <utility>

namespace tandem::comm {

using Task = MessageGraph::Task;

Task MessageGraph::add(Step step) {
  steps_.push_back(std::move(step));
  ++left_;
  return static_cast<Task>(steps_.size() - 1);
}

Task MessageGraph::add_send(int process, std::uint64_t tag, const void* data, std::size_t nbytes) {
  return add({.kind = Step::Kind::send,
              .process = process,
              .tag = tag,
              .data = const_cast<void*>(data),
              .nbytes = nbytes});
}

Task MessageGraph::add_receive(int process, std::uint64_t tag, void* data, std::size_t nbytes) {
  return add({.kind = Step::Kind::receive,
              .process = process,
              .tag = tag,
              .data = data,
              .nbytes = nbytes});
}

Task MessageGraph::add_native(const ProcessLinks::Native& collective) {
  return add({.kind = Step::Kind::native, .native = collective});
}

Task MessageGraph::add_piece(Piece piece) {
  return add({.kind = Step::Kind::piece, .piece = std::move(piece)});
}

Task MessageGraph::add_gate() {
  return add({.kind = Step::Kind::gate});
}

void MessageGraph::order(Task earlier, Task later) {
  if (earlier == kNone) return;
  steps_[static_cast<std::size_t>(earlier)].next.push_back(later);
  ++steps_[static_cast<std::size_t>(later)].waits_for;
}

void MessageGraph::start(ProcessLinks& links) {
  std::vector<Task> first;
  for (std::size_t t = 0; t < steps_.size(); ++t)
    if (steps_[t].waits_for == 0) first.push_back(static_cast<Task>(t));
  for (const Task task : first)
    begin(task, links);
}

void MessageGraph::begin(Task task, ProcessLinks& links) {
  const Step& step = steps_[static_cast<std::size_t>(task)];
  switch (step.kind) {
    case Step::Kind::send:
      under_way_.push_back({task, links.send(step.process, step.tag, step.data, step.nbytes)});
      break;
    case Step::Kind::receive:
      under_way_.push_back({task, links.receive(step.process, step.tag, step.data, step.nbytes)});
      break;
    case Step::Kind::native:
      under_way_.push_back({task, links.start(step.native)});
      break;
    case Step::Kind::piece:
      ready_.push_back(task);
      break;
    case Step::Kind::gate:
      end(task, links);
      break;
  }
}

void MessageGraph::end(Task task, ProcessLinks& links) {
  --left_;
  for (const Task later : std::exchange(steps_[static_cast<std::size_t>(task)].next, {}))
    if (--steps_[static_cast<std::size_t>(later)].waits_for == 0) begin(later, links);
}

bool MessageGraph::look(ProcessLinks& links) {
  std::vector<Task> ended;
  std::erase_if(under_way_, [&](const UnderWay& u) {
    if (!u.message->done()) return false;
    ended.push_back(u.task);
    return true;
  });
  for (const Task task : ended)
    end(task, links);
  return !ended.empty();
}

Task MessageGraph::take_piece() {
  if (ready_.empty()) return kNone;
  const Task task = ready_.front();
  ready_.pop_front();
  return task;
}

void MessageGraph::run(Task task) const {
  const Piece& piece = steps_[static_cast<std::size_t>(task)].piece;
  piece.run(0, piece.count);
}

void MessageGraph::finish(Task task, ProcessLinks& links) {
  end(task, links);
}

void MessageGraph::drop_messages() {
  under_way_.clear();
  ready_.clear();
}

}  // namespace tandem::comm
