// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/comm/communicator.hpp"

#include <utility>

#include "tandem/core/check.hpp"

#include "comm/collective_check.hpp"
#include "comm/meeting.hpp"
#include "comm/started_operation.hpp"

namespace tandem::comm {

Communicator::Communicator(std::shared_ptr<Meeting> meeting, int rank) noexcept
    : meeting_(std::move(meeting)), rank_(rank) {}

Communicator::~Communicator() {
  meeting_->retire(rank_);
}

int Communicator::size() const noexcept {
  return meeting_->ranks().size();
}

int Communicator::local_rank() const noexcept {
  return meeting_->ranks().local_rank(rank_);
}

Device Communicator::device() const noexcept {
  return meeting_->ranks().device(rank_);
}

std::string Communicator::describe() const {
  return meeting_->ranks().name(rank_);
}

void Communicator::abort(const std::string& reason) noexcept {
  meeting_->abort(reason);
}

void Communicator::reset() {
  meeting_->reset();
}

std::string Communicator::flight_record() const {
  return meeting_->flight_record();
}

Handle Communicator::start_send(const Tensor& x, int to, int tag) {
  return start({.kind = Collective::Kind::send, .input = x, .root = to, .tag = tag});
}

Handle Communicator::start_recv(const Tensor& x, int from, int tag) {
  return start({.kind = Collective::Kind::recv, .output = x, .root = from, .tag = tag});
}

Handle Communicator::start(Collective collective) {
  std::vector<Collective> one;
  one.push_back(std::move(collective));
  return launch(std::move(one));
}

Handle Communicator::start_coalesced(std::vector<Collective> collectives) {
  for (const Collective& c : collectives) {
    if (c.kind == Collective::Kind::send || c.kind == Collective::Kind::recv) {
      refuse(InvalidArgument(detail::concat(
          "coalesced: ", name(c.kind), " takes place between two ranks; start it by itself")));
    }
  }
  if (collectives.empty()) collectives.emplace_back();  // a barrier
  return launch(std::move(collectives));
}

std::unique_ptr<Communicator> Communicator::split(int color, int key) {
  if (color < -1) {
    refuse(InvalidArgument(detail::concat(
        "split: color is ", color, "; expected 0 or more, or -1 for a rank that joins no group")));
  }
  Part part;
  part.color = color;
  part.key = key;
  const auto op = meeting_->arrive(rank_, {{.kind = Collective::Kind::split}}, {part});
  meeting_->wait(*op, rank_, std::chrono::milliseconds::max());
  const Seat seat = meeting_->seat(*op, rank_);
  if (seat.meeting == nullptr) return nullptr;
  return std::make_unique<Communicator>(seat.meeting, seat.rank);
}

Handle Communicator::launch(std::vector<Collective> collectives) {
  try {
    for (Collective& c : collectives) {
      complete_part(c, rank(), size());
      check_part(c, rank(), size(), device());
    }
  } catch (const InvalidArgument& e) {
    refuse(e);
  }
  try {
    return Handle(std::make_unique<StartedOperation>(meeting_, rank_, std::move(collectives)));
  } catch (const std::exception& e) {
    // The others would wait for a rank that never comes; no effect where they know already.
    abort(describe() + " failed: " + e.what());
    throw;
  }
}

// The others would wait for a rank that never comes.
void Communicator::refuse(const InvalidArgument& error) {
  abort(describe() + " failed: " + error.what());
  throw error;
}

}  // namespace tandem::comm
