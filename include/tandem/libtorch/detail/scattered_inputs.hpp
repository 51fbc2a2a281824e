// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <mutex>
#include <tuple>
#include <vector>

#include "tandem/libtorch/nest.hpp"
#include "tandem/parallel/detail/gathered.hpp"
#include "tandem/parallel/detail/nest_rows.hpp"

namespace tandem::libtorch::detail {

/// What the replicas of one call of dp(x) get of its tensors.
///
/// A tensor that requires grad is scattered to all replicas at once, in one node of PyTorch's graph
/// (see move_together); any other by each replica for itself. Thread-safe.
class ScatteredInputs {
 public:
  /// @param rows  of each device; empty: it runs no replica.
  ScatteredInputs(std::vector<Device> devices, std::vector<RowRange> rows);

  /// A replica's parts of the arguments, behind one gate (see enter_replica). To be called once by
  /// each replica, on its thread.
  template <parallel::Argument... Args>
  std::tuple<parallel::detail::PartOf<Args>...> take([[maybe_unused]] int dim,
                                                     const parallel::Replica& replica,
                                                     const Args&... whole) {
    const parallel::detail::ScatterScope scope(replica);
    std::size_t next = 0;  // of the tensors that require grad
    [[maybe_unused]] auto take_one = [&](const at::Tensor& x,
                                         const parallel::detail::LeafRule& rule,
                                         const parallel::Replica& r) {
      return take_leaf(next, x, rule, r);
    };
    std::tuple<parallel::detail::PartOf<Args>...> parts{
        parallel::detail::take_part(whole, dim, replica, take_one)...};
    std::vector<at::Tensor*> leaves;
    const auto collect = [&]<class T>(T& part) {
      if constexpr (TensorNest<T>)
        for_each_leaf<at::Tensor>(part, [&](at::Tensor& x) { leaves.push_back(&x); });
    };
    std::apply([&](auto&... part) { (collect(part), ...); }, parts);
    enter(leaves);
    return parts;
  }

 private:
  at::Tensor take_leaf(std::size_t& next,
                       const at::Tensor& whole,
                       const parallel::detail::LeafRule& rule,
                       const parallel::Replica& replica);
  static void enter(const std::vector<at::Tensor*>& leaves);
  at::Tensor part(std::size_t k,
                  const at::Tensor& whole,
                  const parallel::detail::LeafRule& rule,
                  std::size_t device);

  std::vector<Device> devices_;
  std::vector<RowRange> rows_;
  std::mutex mutex_;                            // guards parts_
  std::vector<std::vector<at::Tensor>> parts_;  // by tensor that requires grad, by device
};

}  // namespace tandem::libtorch::detail
