// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/cuda/map.hpp"
#include "kernels/reduce.hpp"
#include "kernels/reduce.inl"

namespace tandem::kernels {
namespace {

/// The dimensions of x that are kept, with y beside them, and those that are reduced.
struct Dimensions {
  Plan kept;     // x, y
  Plan reduced;  // x
  Walk walk;

  Dimensions(const View& x, const View& y) {
    const View target = broadcast_to(y, x.shape);
    const Plan plan = make_plan({&x, &target});
    unsigned bits = 0;
    for (int d = 0; d < plan.ndim; ++d)
      bits |= (plan.strides[1][static_cast<std::size_t>(d)] != 0 ? 1U : 0U) << d;
    kept = select_dims(plan, bits);
    reduced = select_dims(plan, ~bits);
    walk = plan.inner_stride(1) == 0 ? Walk::along : Walk::across;
  }
};

/// A functor of reduce.inl over elements with strides.
template <class Op, class Out>
struct ReduceElements {
  using Total = typename Op::Total;
  Op op;
  Plan kept, reduced;
  const typename Op::In* x;
  Out* y;

  TANDEM_HD Total total() const { return op.total(); }
  TANDEM_HD Total at(std::int64_t output, std::int64_t i) const {
    const std::int64_t first = detail::Place<1>(kept, output).at[0];
    const auto value = x[first + detail::Place<1>(reduced, i).at[0]];
    return static_cast<Total>(op.add(op.part(), value));
  }
  TANDEM_HD Total join(Total a, Total b) const { return op.join(a, b); }
  TANDEM_HD void store(std::int64_t output, Total total) const {
    y[detail::Place<2>(kept, output).at[1]] = op.template finish<Out>(total);
  }
};

template <class Out, class Op>
void reduce(const CudaStream& s, const Op& op, const View& x, const View& y) {
  if (x.numel() == 0) return map<Out>(s, Nothing<Out, Op>{op}, y);
  const Dimensions d(x, y);
  reduce_each(
      s,
      d.kept.numel,
      d.reduced.numel,
      d.walk,
      ReduceElements<Op, Out>{op, d.kept, d.reduced, x.as<const typename Op::In>(), y.as<Out>()});
}

template <class T, class Square>
void typed_sum(const CudaStream& s, double scale, const View& x, const View& y) {
  const SumOf<T, Square> op{scale};
  if constexpr (std::is_same_v<T, float>) {
    if (y.dtype == DType::f64) return reduce<double>(s, op, x, y);
  }
  reduce<typename SumOf<T>::Part>(s, op, x, y);
}

/// An element and its index; -1: none.
template <class T>
struct Ranked {
  T value;
  std::int64_t index;
};

/// The first of the largest, a NaN above all.
template <class T>
struct ArgMaxLine {
  using Total = Ranked<T>;
  Plan plan;  // y, x at the start of the line
  std::int64_t step;
  const T* x;
  std::int64_t* y;

  TANDEM_HD Total total() const { return {T(0), -1}; }
  TANDEM_HD Total at(std::int64_t output, std::int64_t i) const {
    return {x[detail::Place<2>(plan, output).at[1] + i * step], i};
  }
  TANDEM_HD Total join(Total a, Total b) const {
    if (a.index < 0 || b.index < 0) return a.index < 0 ? b : a;
    const bool a_nan = a.value != a.value, b_nan = b.value != b.value;
    const bool equal = a_nan || b_nan ? a_nan == b_nan : a.value == b.value;
    if (equal) return a.index < b.index ? a : b;
    return a_nan || (!b_nan && a.value > b.value) ? a : b;
  }
  TANDEM_HD void store(std::int64_t output, Total best) const {
    y[detail::Place<2>(plan, output).at[0]] = best.index;
  }
};

}  // namespace

void sum(const CudaStream& s, Term term, double scale, const View& x, const View& y) {
  with_dtype(x.dtype, [&]<class T>() {
    if (term == Term::value) return typed_sum<T, std::false_type>(s, scale, x, y);
    if constexpr (std::is_floating_point_v<T>) typed_sum<T, std::true_type>(s, scale, x, y);
  });
}

void extremum(const CudaStream& s, Extremum which, const View& x, const View& y) {
  const auto run = [&]<class T>() {
    if (which == Extremum::largest) return reduce<T>(s, Extreme<T, true>{}, x, y);
    reduce<T>(s, Extreme<T, false>{}, x, y);
  };
  with_dtype(x.dtype, [&]<class T>() {
    if constexpr (std::is_same_v<T, bool>)
      run.template operator()<std::uint8_t>();
    else
      run.template operator()<T>();
  });
}

void argmax(const CudaStream& s, int dim, const View& x, const View& y) {
  View first = x;
  first.shape = y.shape;
  const Plan plan = make_plan({&y, &first});
  const Walk walk = x.strides[dim] == 1 ? Walk::along : Walk::across;
  with_dtype(x.dtype, [&]<class T>() {
    reduce_each(s,
                plan.numel,
                x.shape[dim],
                walk,
                ArgMaxLine<T>{plan, x.strides[dim], x.as<const T>(), y.as<std::int64_t>()});
  });
}

}  // namespace tandem::kernels
