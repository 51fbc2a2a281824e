// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/comm/handle.hpp"

#include <utility>

#include "tandem/core/check.hpp"

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

}  // namespace tandem::comm
