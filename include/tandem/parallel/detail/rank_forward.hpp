// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tandem/parallel/detail/nest_rows.hpp"
#include "tandem/parallel/detail/rank_replica.hpp"
#include "tandem/tensor/nest.hpp"

namespace tandem::parallel::detail {

/// An argument of a rank's forward: a copy with inputs as the replica wants them, if it is a nest
/// of tensors, else what it was.
template <class T>
auto rank_argument(const RankReplica& replica, T&& argument) {
  using Value = std::remove_cvref_t<T>;
  if constexpr (tandem::detail::is_nest<Value> && std::copy_constructible<Value>) {
    Value own(std::forward<T>(argument));
    for_each_leaf(own, [&](Tensor& x) { x = replica.input(x); });
    return std::tuple<Value>(std::move(own));
  } else {
    return std::tuple<T&&>(std::forward<T>(argument));
  }
}

/// A rank's forward of the module, whose outputs count by its rows.
template <class M, class... Args>
auto rank_forward(RankReplica& replica, M& module, int dim, Args&&... arguments) {
  const ContextScope scope(replica.begin_forward(find_rows(dim, arguments...)));
  auto own = std::tuple_cat(rank_argument(replica, std::forward<Args>(arguments))...);
  auto outputs =
      std::apply([&](auto&... values) { return module(static_cast<Args&&>(values)...); }, own);
  for_each_leaf(outputs, [&](Tensor& y) { y = replica.output(y); });
  replica.end_forward();
  return outputs;
}

}  // namespace tandem::parallel::detail
