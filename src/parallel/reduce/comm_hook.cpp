// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/parallel/comm_hook.hpp"

#include <utility>

#include "tandem/autograd/autograd.hpp"
#include "tandem/ops/arithmetic.hpp"

namespace tandem::parallel {
namespace {

using comm::Collective;

comm::Handle start_sum(comm::Communicator& comm, const std::vector<Tensor>& tensors) {
  std::vector<Collective> all;
  for (const Tensor& x : tensors)
    all.push_back(Collective::all_reduce(x, comm::ReduceOp::sum));
  return comm.start_coalesced(std::move(all));
}

comm::Handle compressed(comm::Communicator& comm, const GradBucket& bucket, DType dtype) {
  const autograd::NoGrad off;
  std::vector<Tensor> sent;
  for (const Tensor& x : bucket.gradients)
    sent.push_back((x * (1.0 / comm.size())).to(dtype));
  return start_sum(comm, sent).then([own = bucket.gradients, sent] {
    const autograd::NoGrad in_place;
    for (std::size_t i = 0; i < own.size(); ++i)
      Tensor(own[i]).copy_(sent[i].to(own[i].dtype()));
  });
}

}  // namespace

comm::Handle allreduce_hook(comm::Communicator& comm, const GradBucket& bucket) {
  const autograd::NoGrad off;
  for (Tensor x : bucket.gradients)
    x.mul_(1.0 / comm.size());
  return start_sum(comm, bucket.gradients);
}

comm::Handle fp16_compress_hook(comm::Communicator& comm, const GradBucket& bucket) {
  return compressed(comm, bucket, DType::f16);
}

comm::Handle bf16_compress_hook(comm::Communicator& comm, const GradBucket& bucket) {
  return compressed(comm, bucket, DType::bf16);
}

comm::Handle noop_hook(comm::Communicator& /*comm*/, const GradBucket& /*bucket*/) {
  return {};
}

}  // namespace tandem::parallel
