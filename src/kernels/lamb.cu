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
  T* trust;

  struct Run {
    const Lamb<T>& step;
    T param, direction;
    struct Value {
      T param, direction;
    };
    TANDEM_HD Value load(std::int64_t i) const {
      step.moments(i);
      return {step.param[i], step.direction(i)};
    }
    template <int kCount>
    TANDEM_HD void add(const Value (&values)[kCount]) {
      for (const Value& value : values) {
        param += value.param * value.param;
        direction += value.direction * value.direction;
      }
    }
    TANDEM_HD Total total() const {
      return {static_cast<double>(param), static_cast<double>(direction)};
    }
  };
  TANDEM_HD Run run(std::int64_t) const { return {step, T(0), T(0)}; }
  TANDEM_HD Total join(Total a, Total b) const {
    return {a.param + b.param, a.direction + b.direction};
  }
  TANDEM_HD void store(std::int64_t, Total squares) const {
    *trust = static_cast<T>(squares.trust());
  }
};

template <class T>
struct LambUpdate {
  Lamb<T> step;
  const T* trust;
  TANDEM_HD void operator()(std::int64_t i) const { step.update(i, *trust); }
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
    const Workspace<T> trust(s.device, 1);
    reduce_each(s, 1, n, Walk::along, MomentsAndSquares<T>{step, trust.data()});
    for_each(s, n, LambUpdate<T>{step, trust.data()});
  });
}

}  // namespace tandem::kernels
