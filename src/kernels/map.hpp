// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <utility>

#include "kernels/element.hpp"
#include "kernels/for_each.hpp"
#include "kernels/view.hpp"

namespace tandem::kernels {

/// The plan of a kernel: how it walks operands of one shape together. It has the fewest dimensions,
/// the output's memory order outermost first, so that channels-last is as quick as contiguous.
struct KernelPlan {
  static constexpr int kMaxOperands = 4;
  int ndim = 0;  ///< at least one, where there are elements
  std::int64_t numel = 0;
  std::array<std::int64_t, kMaxDims + 1> sizes{};
  /// By operand (the output is 0), then dimension; in elements. Zero where it broadcasts.
  std::array<std::array<std::int64_t, kMaxDims + 1>, kMaxOperands> strides{};

  std::int64_t inner() const noexcept { return sizes[static_cast<std::size_t>(ndim - 1)]; }
  std::int64_t inner_stride(std::size_t operand) const noexcept {
    return strides[operand][static_cast<std::size_t>(ndim - 1)];
  }
};

/// Where the operands' elements are at the start of a row: rows are walked in order.
///
/// A row is the innermost dimension.
class Cursor {
 public:
  Cursor(const KernelPlan& plan, std::int64_t row) noexcept;
  std::int64_t offset(std::size_t operand) const noexcept { return offsets_[operand]; }
  /// Goes on to the next row.
  void next() noexcept {
    for (auto d = static_cast<std::size_t>(plan_->ndim - 1); d-- > 0;) {
      for (std::size_t k = 0; k < KernelPlan::kMaxOperands; ++k)
        offsets_[k] += plan_->strides[k][d];
      if (++index_[d] < plan_->sizes[d]) return;
      for (std::size_t k = 0; k < KernelPlan::kMaxOperands; ++k)
        offsets_[k] -= plan_->strides[k][d] * plan_->sizes[d];
      index_[d] = 0;
    }
  }

 private:
  const KernelPlan* plan_;
  std::array<std::int64_t, kMaxDims + 1> index_{};
  std::array<std::int64_t, KernelPlan::kMaxOperands> offsets_{};
};

/// @param operands  the output first; inputs broadcast to its shape by zero strides.
KernelPlan make_kernel_plan(std::initializer_list<const View*> operands);

/// The plan of some dimensions of `plan`, by bit: its rows are single elements.
KernelPlan select_dims(const KernelPlan& plan, unsigned dims);

/// `x` as one that broadcasts to `shape`: strides of zero where it repeats.
View broadcast_to(const View& x, const Shape& shape);

namespace detail {

// Flattened: GCC stops putting functions into their callers as a file grows, and a loop with a call
// in it is not vectorised.
template <class Op, class Out, class... In, std::size_t... I>
[[gnu::flatten]] void map_row(Op op,
                              std::int64_t n,
                              Out* y,
                              std::int64_t sy,
                              const std::array<std::int64_t, sizeof...(In)>& sx,
                              std::index_sequence<I...>,
                              const In*... x) {
  const bool dense = sy == 1 && ((sx[I] == 1) && ...);
  if (dense) {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < n; ++i)
      y[i] = store<Out>(op(load(x[i])...));
    return;
  }
  if constexpr (sizeof...(In) == 2) {
    const auto both = std::pair<const In*...>(x...);
    if (sy == 1 && sx[0] == 1 && sx[1] == 0) {
      const auto b = load(*both.second);
#pragma GCC ivdep
      for (std::int64_t i = 0; i < n; ++i)
        y[i] = store<Out>(op(load(both.first[i]), b));
      return;
    }
    if (sy == 1 && sx[0] == 0 && sx[1] == 1) {
      const auto a = load(*both.first);
#pragma GCC ivdep
      for (std::int64_t i = 0; i < n; ++i)
        y[i] = store<Out>(op(a, load(both.second[i])));
      return;
    }
  }
  for (std::int64_t i = 0; i < n; ++i)
    y[i * sy] = store<Out>(op(load(x[i * sx[I]])...));
}

template <class Op, class Out, class... In, std::size_t... I>
void map_by_plan(const HostStream& s,
                 Op op,
                 const KernelPlan& plan,
                 std::index_sequence<I...> each,
                 Out* y,
                 const In*... x) {
  const std::int64_t inner = plan.inner();
  const std::int64_t sy = plan.inner_stride(0);
  const std::array<std::int64_t, sizeof...(In)> sx{plan.inner_stride(I + 1)...};
  for_each_range(s, plan.numel, kGrain, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t at = begin % inner;
    Cursor row(plan, begin / inner);
    for (std::int64_t i = begin; i < end; row.next(), at = 0) {
      const std::int64_t n = std::min(inner - at, end - i);
      map_row(op,
              n,
              y + row.offset(0) + at * sy,
              sy,
              sx,
              each,
              (x + row.offset(I + 1) + at * sx[I])...);
      i += n;
    }
  });
}

}  // namespace detail

/// y = op(x...), element by element. `op` is a functor over numbers (compute_t), marked TANDEM_HD.
///
/// @param x  of y's shape: broadcast them first (broadcast_to). May be `y` itself.
template <class Out, class... In, class Op, class... Views>
void map(const HostStream& s, Op op, const View& y, const Views&... x) {
  static_assert(sizeof...(In) == sizeof...(Views) && sizeof...(In) < KernelPlan::kMaxOperands);
  const KernelPlan plan = make_kernel_plan({&y, &x...});
  if (plan.numel == 0) return;
  detail::map_by_plan(s,
                      op,
                      plan,
                      std::index_sequence_for<In...>{},
                      y.template as<Out>(),
                      static_cast<const In*>(x.template as<In>())...);
}

}  // namespace tandem::kernels
