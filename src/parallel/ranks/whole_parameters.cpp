// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/ranks/whole_parameters.hpp"

#include <memory>
#include <utility>
#include <vector>

#include "parallel/reduce/buckets.hpp"

namespace tandem::parallel {

WholeParameters::WholeParameters(DeviceReplica& replica,
                                 comm::Communicator& comm,
                                 const Exchange& exchange)
    : replica_(replica), comm_(comm) {
  replica.bind_parameters(optim::Arena::obtain(
      arena_entries(replica.source(), nn::TensorKind::parameter), {.device = replica.device()}));
  auto buckets = plan_buckets(
      replica.parameters()->layout(), exchange.first_bucket_nbytes, exchange.bucket_nbytes);
  replica.reduce_by(std::make_shared<const std::vector<Bucket>>(std::move(buckets)),
                    {.to = Reduction::To::all});
}

void WholeParameters::send(int root) const {
  for (const Tensor& block : replica_.parameters()->params())
    comm_.broadcast(block, root);
}

BucketReducer::Groups WholeParameters::groups() const noexcept {
  return {.replicas = comm_.size() > 1 ? &comm_ : nullptr};
}

}  // namespace tandem::parallel
