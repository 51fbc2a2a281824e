// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/optimizer.hpp"

#include <atomic>
#include <cmath>
#include <limits>

#include "kernels/for_each.hpp"
#include "kernels/optimizer.inl"

namespace tandem::kernels {

template void sgd(const HostStream&, DType, std::int64_t, const SgdNumbers&, void*, const void*);
template void sgd_momentum(
    const HostStream&, DType, std::int64_t, const SgdNumbers&, void*, const void*, void*);
template void rmsprop(const HostStream&,
                      DType,
                      std::int64_t,
                      const RmspropNumbers&,
                      void*,
                      const void*,
                      void*,
                      void*,
                      void*);
template void adagrad(
    const HostStream&, DType, std::int64_t, const AdagradNumbers&, void*, const void*, void*);
template void adadelta(const HostStream&,
                       DType,
                       std::int64_t,
                       const AdadeltaNumbers&,
                       void*,
                       const void*,
                       void*,
                       void*);
template void average(const HostStream&, DType, std::int64_t, double, const void*, void*);
template void swap(const HostStream&, DType, std::int64_t, void*, void*);
template void scale(const HostStream&, DType, std::int64_t, void*, const void*);
template void clamp(const HostStream&, DType, std::int64_t, void*, double);

void find_nonfinite(
    const HostStream& s, DType t, std::int64_t n, const void* x, std::int32_t* flag) {
  with_float(t, [&]<class T>() {
    const T* values = static_cast<const T*>(x);
    for_each_range(s, n, kGrain, [=](std::int64_t begin, std::int64_t end) {
      int bad = 0;
      for (std::int64_t i = begin; i < end; ++i) {
        bad |= static_cast<int>(!(std::abs(values[i]) <= std::numeric_limits<T>::max()));
      }
      if (bad != 0) std::atomic_ref(*flag).store(1, std::memory_order_relaxed);
    });
  });
}

}  // namespace tandem::kernels
