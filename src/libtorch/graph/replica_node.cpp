// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/graph/replica_node.hpp"

#include <utility>

#include "tandem/autograd/tape_context.hpp"

#include "libtorch/device/backward_context.hpp"
#include "libtorch/modules/backward_meetings.hpp"
#include "libtorch/modules/torch_source.hpp"

namespace tandem::libtorch {

ReplicaNode::ReplicaNode(const char* name, Meets meets, std::shared_ptr<TorchSource> source)
    : name_(name), meets_(meets), forward_(share_context()), source_(std::move(source)) {}

bool ReplicaNode::meets() const noexcept {
  return meets_ == Meets::yes && autograd::tape_context(*forward_).row_group != nullptr;
}

std::vector<at::Tensor> ReplicaNode::run(const std::function<std::vector<at::Tensor>()>& f) const {
  const BackwardScope backward;
  const ContextScope scope(forward_in_backward(*forward_));
  if (!meets() || !is_backward_outside_of_calls()) return source_->stopped().watch(f);
  return source_->ops().meetings->visit(autograd::tape_context(*forward_).row_group, [&] {
    check_alive(name_);  // not before the visit: the group may be reset until then
    return source_->stopped().watch(f);
  });
}

}  // namespace tandem::libtorch
