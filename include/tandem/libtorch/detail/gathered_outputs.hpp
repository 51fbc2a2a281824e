// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "tandem/libtorch/nest.hpp"
#include "tandem/parallel/detail/outputs.hpp"

namespace tandem::libtorch::detail {

/// A replica's outputs behind one node of its graph; see leave_replica.
std::vector<at::Tensor> behind_gate(std::vector<at::Tensor> outputs);
/// `x` on PyTorch's `cpu`, on PyTorch's graph.
at::Tensor to_host(const at::Tensor& x);

/// Called as a replica's last work: puts its outputs behind one node.
template <class Output>
void leave(Output& output) {
  const auto parts = parallel::detail::take_apart(output, 0);
  parallel::detail::put_together(
      output, std::span<const at::Tensor>(behind_gate(parts.tensors)), {});
}

/// Joins what the replicas returned, on PyTorch's graph.
///
/// @param outputs  by device; none where a device had no rows.
/// @param on_host  whether the result goes to PyTorch's `cpu` rather than to `device`.
template <class Output>
Output gather_outputs(std::vector<std::optional<Output>>& outputs,
                      Device device,
                      bool on_host,
                      const parallel::GatherOptions& options) {
  std::vector<parallel::detail::OutputPartsOf<at::Tensor>> parts;
  std::optional<Output> result;
  for (std::optional<Output>& output : outputs) {
    if (!output) continue;
    parts.push_back(parallel::detail::take_apart(*output, options.dim));
    if (!result) result = std::move(*output);
    output.reset();
  }
  parallel::detail::check_parts(parts);
  std::vector<at::Tensor> joined = parallel::detail::join_all(parts, device, options, std::nullopt);
  if (on_host)
    for (at::Tensor& x : joined)
      x = to_host(x);
  parallel::detail::put_together(*result,
                                 std::span<const at::Tensor>(joined),
                                 parallel::detail::combine_numbers(parts, options));
  return std::move(*result);
}

}  // namespace tandem::libtorch::detail
