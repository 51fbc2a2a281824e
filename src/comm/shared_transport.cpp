// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "comm/shared_transport.hpp"

namespace tandem::comm {
namespace {

/// How long work of a transport may take to end after a failure before it is taken to hang.
constexpr auto kGrace = std::chrono::seconds(2);

}  // namespace

SharedTransport::~SharedTransport() {
  if (queued_.ends_within(has_failed_ ? kGrace : timeout_))
    transport_->close();
  else
    transport_->abort();
}

void SharedTransport::queue(const std::vector<const Piece*>& pieces) {
  try {
    transport_->queue(pieces);
  } catch (...) {  // it has aborted all that it had
    queued_.clear();
    throw;
  }
}

void SharedTransport::note(QueuedWork::Events ready, std::shared_ptr<const Event> ended) {
  queued_.add(std::move(ready), std::move(ended));
  has_failed_ = false;
}

// Who is queueing now need not be waited for: NCCL's part in it ends by the group's timeout.
void SharedTransport::abort() noexcept {
  const std::unique_lock one(queueing_, std::try_to_lock);
  if (!one.owns_lock()) return;
  has_failed_ = true;
  if (!queued_.hangs(kGrace)) return;
  transport_->abort();
  queued_.clear();
}

void SharedTransport::close_if_idle() noexcept {
  const DriverTurn driver;
  const std::unique_lock one(queueing_, std::try_to_lock);
  if (one.owns_lock() && queued_.ends_within(QueuedWork::Duration::zero())) transport_->close();
}

std::shared_ptr<SharedTransport> SharedTransport::make(const std::vector<Device>& devices) const {
  return std::make_shared<SharedTransport>(transport_->make(devices), timeout_);
}

}  // namespace tandem::comm
