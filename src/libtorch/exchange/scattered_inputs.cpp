// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/libtorch/detail/scattered_inputs.hpp"

#include <utility>

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include "tandem/libtorch/detail/gradient_gate.hpp"
#include "tandem/libtorch/detail/torch_device.hpp"
#include "tandem/parallel/detail/replica_set.hpp"
#include "tandem/runtime/context.hpp"

#include "libtorch/gpu/caller_streams.hpp"

namespace tandem::libtorch::detail {

ScatteredInputs::ScatteredInputs(std::vector<Device> devices, std::vector<RowRange> rows)
    : devices_(std::move(devices)), rows_(std::move(rows)) {}

at::Tensor ScatteredInputs::take_leaf(std::size_t& next,
                                      const at::Tensor& whole,
                                      const parallel::detail::LeafRule& rule,
                                      const parallel::Replica& replica) {
  const bool is_on_graph = whole.defined() && whole.requires_grad() && c10::GradMode::is_enabled();
  if (!is_on_graph || rule.own) return parallel::detail::take_leaf(whole, rule, replica);
  return part(next++, whole, rule, static_cast<std::size_t>(replica.index));
}

void ScatteredInputs::enter(const std::vector<at::Tensor*>& leaves) {
  std::vector<at::Tensor> tensors;
  for (const at::Tensor* x : leaves)
    tensors.push_back(*x);
  auto gated = enter_replica(std::move(tensors));
  for (std::size_t i = 0; i < leaves.size(); ++i)
    *leaves[i] = std::move(gated[i]);
}

at::Tensor ScatteredInputs::part(std::size_t k,
                                 const at::Tensor& whole,
                                 const parallel::detail::LeafRule& rule,
                                 std::size_t device) {
  const std::scoped_lock lock(mutex_);
  if (k == parts_.size()) {
    const ContextScope scope([](Context& c) { c.category = Category::input; });
    std::vector<at::Tensor> parts(devices_.size());
    std::vector<c10::Device> places;
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      places.push_back(torch_device(devices_[d]));
      if (!parallel::detail::is_active(rows_, d)) continue;
      parts[d] = rule.whole ? whole : whole.narrow(rule.dim, rows_[d].begin, rows_[d].size());
    }
    parts_.push_back(move_together(std::move(parts), places));
    await_current_streams(devices_);  // which are this replica's, and those of its caller
  }
  return parts_[k][device];
}

}  // namespace tandem::libtorch::detail
