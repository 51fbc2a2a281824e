// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/cuda/reduce.hpp"
#include "kernels/reduce.hpp"
#include "kernels/reduce.inl"
#include "kernels/sort.inl"

namespace tandem::kernels {
namespace {

/// The first of the largest, a NaN above all.
template <class T>
struct ArgMaxLine {
  using Total = Ranked<compute_t<T>>;
  Places<2> places;  // y, x at the start of the line
  std::int64_t step;
  const T* x;
  std::int64_t* y;

  struct Run {
    const T* x;
    std::int64_t step;
    Total best;
    TANDEM_HD Total load(std::int64_t i) const { return {kernels::load(x[i * step]), i}; }
    template <int kCount>
    TANDEM_HD void add(const Total (&values)[kCount]) {
      for (const Total& value : values)
        best = first_of(best, value);
    }
    TANDEM_HD Total total() const { return best; }
  };
  TANDEM_HD Run run(std::int64_t output) const {
    return {x + places(output).at[1], step, {compute_t<T>(0), -1}};
  }
  TANDEM_HD Total join(Total a, Total b) const { return first_of(a, b); }
  TANDEM_HD void store(std::int64_t output, Total best) const {
    y[places(output).at[0]] = best.index;
  }

 private:
  TANDEM_HD static Total first_of(Total a, Total b) {
    return before(Ranking{.largest_first = true, .nan_first = true}, a, b) ? a : b;
  }
};

}  // namespace

template void sum(const CudaStream&, Term, double, const View&, const View&);
template void extremum(const CudaStream&, Extremum, const View&, const View&);

void argmax(const CudaStream& s, int dim, const View& x, const View& y) {
  View first = x;
  first.shape = y.shape;
  const KernelPlan plan = make_kernel_plan({&y, &first});
  with_dtype(x.dtype, [&]<class T>() {
    reduce_each(
        s,
        plan.numel,
        x.shape[dim],
        walk_of(x.strides[dim]),
        ArgMaxLine<T>{Places<2>(plan), x.strides[dim], x.as<const T>(), y.as<std::int64_t>()});
  });
}

}  // namespace tandem::kernels
