// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replicas/call/one_process.hpp"

#include "tandem/core/check.hpp"

namespace tandem::parallel {

const OneProcess& OneProcess::get() noexcept {
  static const OneProcess one;
  return one;
}

WholeStep OneProcess::loss_of(const Call& call) const {
  WholeStep whole{.has_no_effect = call.has_no_effect};
  for (const Call::Part& part : call.parts) {
    whole.sum += part.sum;
    whole.weight += part.weight;
  }
  return whole;
}

std::string OneProcess::failure_of(const Call::Part& part, const std::exception_ptr&) const {
  return "replica " + std::to_string(part.index()) + " failed";
}

WholeBatch OneProcess::exchange(const Call::Part&, std::int64_t, std::int64_t here) const {
  return {.rows = here};
}

std::shared_ptr<RowGroup> OneProcess::row_group(const Call::Part& part,
                                                const ReplicaGroup& group) const {
  return group.row_group_of(part.index());
}

Tensor OneProcess::sum(const Call& call, const Call::Part& part, const Tensor& x) const {
  const auto group = call.group.row_group_of(part.index());
  return group != nullptr ? group->all_reduce_sum(x) : x;
}

WholeStep OneProcess::agree(const Call::Part& part, const WholeStep& own) const {
  vote(part);
  return own;
}

BucketReducer::Groups OneProcess::groups_of(const Call::Part& part, bool) const {
  return {.replicas = part.comm};
}

comm::Communicator& OneProcess::all(const Call::Part& part) const {
  TANDEM_ASSERT(!part.is_alone(), "a device alone has nobody to talk to");
  return *part.comm;
}

std::vector<std::int64_t> OneProcess::gather(const Call::Part&,
                                             const std::vector<std::int64_t>& own) const {
  return own;
}

}  // namespace tandem::parallel
