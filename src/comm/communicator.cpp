// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/comm/communicator.hpp"

#include <utility>

#include "tandem/core/check.hpp"

#include "comm/collective_check.hpp"

namespace tandem::comm {

void Handle::wait_for(std::chrono::milliseconds timeout) {
  TANDEM_CHECK(timeout.count() > 0,
               "Handle::wait_for: timeout is ",
               timeout.count(),
               " ms; expected more than zero");
  if (pending_ == nullptr) return;
  pending_->wait(timeout);
  pending_.reset();
}

void Communicator::gather(const Tensor& part, const Tensor& whole, int root) {
  start({Collective::Kind::gather, part, rank() == root ? whole : Tensor(), ReduceOp::sum, root})
      .wait();
}

void Communicator::scatter(const Tensor& whole, const Tensor& part, int root) {
  start({Collective::Kind::scatter, rank() == root ? whole : Tensor(), part, ReduceOp::sum, root})
      .wait();
}

void Communicator::all_gather(const Tensor& part, const Tensor& whole) {
  start({Collective::Kind::all_gather, part, whole}).wait();
}

void Communicator::reduce_scatter(const Tensor& whole, const Tensor& part, Reduction reduction) {
  start({Collective::Kind::reduce_scatter, whole, part, reduction}).wait();
}

Handle Communicator::start_broadcast(const Tensor& x, int root) {
  return start({Collective::Kind::broadcast, x, x, ReduceOp::sum, root});
}

Handle Communicator::start_reduce(const Tensor& x, Reduction reduction, int root) {
  return start({Collective::Kind::reduce, x, x, reduction, root});
}

Handle Communicator::start_all_reduce(const Tensor& x, Reduction reduction) {
  return start({Collective::Kind::all_reduce, x, x, reduction});
}

Handle Communicator::start(Collective collective) {
  try {
    check_part(collective, rank(), size(), device());
  } catch (const InvalidArgument& e) {
    // The others would wait for a rank that never comes.
    abort(detail::concat("rank ", rank(), " (", device(), ") failed: ", e.what()));
    throw;
  }
  return launch(std::move(collective));
}

}  // namespace tandem::comm
