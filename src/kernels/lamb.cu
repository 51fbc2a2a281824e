// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/cuda/launch.hpp"
#include "kernels/lamb.hpp"
#include "kernels/lamb.inl"
#include "kernels/workspace.hpp"

namespace tandem::kernels {
namespace {

/// Makes the moments of an element where it is asked for, once, and adds up the squares.
template <class T>
struct MomentsAndSquares {
  using Total = LambSquares;
  Lamb<T> step;
  LambSquares* squares;

  TANDEM_HD Total total() const { return {0, 0}; }
  TANDEM_HD Total at(std::int64_t, std::int64_t i) const {
    step.moments(i);
    const auto p = static_cast<double>(step.param[i]);
    const auto d = static_cast<double>(step.direction(i));
    return {p * p, d * d};
  }
  TANDEM_HD Total join(Total a, Total b) const {
    return {a.param + b.param, a.direction + b.direction};
  }
  TANDEM_HD void store(std::int64_t, Total total) const { *squares = total; }
};

template <class T>
struct LambUpdate {
  Lamb<T> step;
  const LambSquares* squares;
  TANDEM_HD void operator()(std::int64_t i) const {
    step.update(i, static_cast<T>(squares->trust()));
  }
};

}  // namespace

void lamb(const CudaStream& s,
          DType t,
          std::int64_t n,
          const LambNumbers& k,
          void* param,
          const void* grad,
          void* m,
          void* v) {
  with_float(t, [&]<class T>() {
    const Lamb<T> step = make_lamb<T>(k, param, grad, m, v);
    const Workspace<LambSquares> squares(s.device, 1);
    reduce_each(s, 1, n, Walk::along, MomentsAndSquares<T>{step, squares.data()});
    for_each(s, n, LambUpdate<T>{step, squares.data()});
  });
}

}  // namespace tandem::kernels
