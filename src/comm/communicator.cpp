// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/comm/communicator.hpp"

#include <utility>

#include "tandem/core/check.hpp"

#include "comm/collective_check.hpp"

namespace tandem::comm {
namespace {

class Continued final : public Handle::Pending {
 public:
  Continued(Handle first, std::function<void()> then)
      : first_(std::move(first)), then_(std::move(then)) {}
  void wait(std::chrono::milliseconds timeout) override {
    first_.wait_for(timeout);
    then_();
  }
  void settle(std::chrono::milliseconds /*timeout*/) override { first_.settle(); }
  bool done() const noexcept override { return first_.done(); }
  int source() const noexcept override { return first_.source(); }

 private:
  Handle first_;
  std::function<void()> then_;
};

}  // namespace

Handle Handle::then(std::function<void()> f) && {
  return Handle(std::make_unique<Continued>(std::move(*this), std::move(f)));
}

void Handle::wait_for(std::chrono::milliseconds timeout) {
  TANDEM_CHECK(timeout.count() > 0,
               "Handle::wait_for: timeout is ",
               timeout.count(),
               " ms; expected more than zero");
  if (pending_ == nullptr) return;
  pending_->wait(timeout);
  source_ = pending_->source();
  pending_.reset();
}

void Handle::settle() {
  if (pending_ != nullptr) pending_->settle(std::chrono::milliseconds::max());
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
  return start_checked(std::move(one));
}

Handle Communicator::start_coalesced(std::vector<Collective> collectives) {
  for (const Collective& c : collectives) {
    if (c.kind == Collective::Kind::send || c.kind == Collective::Kind::recv) {
      refuse(InvalidArgument(
          detail::concat("coalesced: ", name(c.kind), " is of two ranks; start it by itself")));
    }
  }
  if (collectives.empty()) collectives.emplace_back();  // a barrier
  return start_checked(std::move(collectives));
}

std::unique_ptr<Communicator> Communicator::split(int color, int key) {
  if (color < -1) {
    refuse(InvalidArgument(detail::concat(
        "split: color is ", color, "; expected 0 or more, or -1 for a rank of no group")));
  }
  return join(color, key);
}

Handle Communicator::start_checked(std::vector<Collective> collectives) {
  try {
    for (Collective& c : collectives) {
      complete_part(c, rank(), size());
      check_part(c, rank(), size(), device());
    }
  } catch (const InvalidArgument& e) {
    refuse(e);
  }
  return launch(std::move(collectives));
}

// The others would wait for a rank that never comes.
void Communicator::refuse(const InvalidArgument& error) {
  abort(detail::concat("rank ", rank(), " (", device(), ") failed: ", error.what()));
  throw error;
}

}  // namespace tandem::comm
