// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/graph/group_sum.hpp"

#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/functions/utils.h>

#include "tandem/autograd/row_group.hpp"
#include "tandem/core/error.hpp"
#include "tandem/libtorch/exchange.hpp"

#include "libtorch/device/pass_to_torch.hpp"
#include "libtorch/gpu/caller_streams.hpp"
#include "libtorch/graph/replica_node.hpp"
#include "libtorch/modules/torch_source.hpp"
#include "libtorch/versions/torch_differences.hpp"

namespace tandem::libtorch {
namespace {

class GroupSumNode final : public ReplicaNode {
 public:
  explicit GroupSumNode(std::shared_ptr<TorchSource> source)
      : ReplicaNode("GroupSum", Meets::yes, std::move(source)) {}

 protected:
  std::vector<at::Tensor> apply(std::vector<at::Tensor>&& dys) override {
    const at::Tensor dy = dys[0].defined() ? dys[0] : input_metadata(0).zeros_like();
    return run([&] { return std::vector{differentiable_sum_over_group(dy, source())}; });
  }
};

}  // namespace

at::Tensor sum_over_group(const at::Tensor& x, const TorchSource& source) {
  try {
    hand_to_main_stream(x, source.device());  // a module may run on a stream of its own
    return taken_from_main_stream(
        to_torch(current_row_group()->all_reduce_sum(from_torch(x.detach(), source.device()))),
        source.device());
  } catch (const OutOfMemory& e) {
    pass_to_torch(source.device(), e);
  }
}

at::Tensor differentiable_sum_over_group(const at::Tensor& x,
                                         const std::shared_ptr<TorchSource>& source) {
  at::Tensor y = sum_over_group(x, *source);
  if (!c10::GradMode::is_enabled() || !x.requires_grad()) return y;
  const auto node = make_node<GroupSumNode>(source);
  node->set_next_edges(torch::autograd::collect_next_edges(x));
  torch::autograd::set_history(y, node);
  return y;
}

}  // namespace tandem::libtorch
