// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replicas/call/call_gate.hpp"

#include <utility>

#include "tandem/core/check.hpp"

#include "parallel/replicas/call/call.hpp"

namespace tandem::parallel {
namespace {

constexpr auto kCancelGrace = std::chrono::seconds(2);  // for a call to end that was cancelled
constexpr const char* kReason = "the DataParallel was destroyed in the middle of the call";

}  // namespace

CallGate::Pass::Pass(CallGate& gate) : gate_(gate) {
  TANDEM_CHECK(
      gate.forks_ == fork_count(),
      "DataParallel: this process was forked after the module was wrapped, and the devices' "
      "threads stayed in the parent; fork first and wrap the module in the child, or start the "
      "child with exec");
  const std::scoped_lock lock(gate.mutex_);
  TANDEM_CHECK(!gate.busy_,
               "DataParallel: another call is running; use one thread at a time, and do not call "
               "the wrapper from inside a replica");
  gate.busy_ = true;
  gate.cancelled_ = false;
}

CallGate::Pass::~Pass() {
  std::shared_ptr<Call> call;  // goes when the lock has
  const std::scoped_lock lock(gate_.mutex_);
  call = std::move(gate_.call_);
  gate_.busy_ = false;
  gate_.left_.notify_all();
}

void CallGate::Pass::show(std::shared_ptr<Call> call) {
  const std::scoped_lock lock(gate_.mutex_);
  gate_.call_ = std::move(call);
  if (gate_.cancelled_) gate_.call_->cancel(kReason);
}

void CallGate::cancel() noexcept {
  if (forks_ != fork_count()) return;  // whoever was inside stayed in the parent, lock and all
  std::unique_lock lock(mutex_);
  cancelled_ = true;
  if (call_ != nullptr) call_->cancel(kReason);
  left_.wait_for(lock, kCancelGrace, [this] { return !busy_; });
}

}  // namespace tandem::parallel
