// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/cuda/launch.hpp"
#include "kernels/optimizer.hpp"
#include "kernels/optimizer.inl"

namespace tandem::kernels {

template void sgd(const CudaStream&, DType, std::int64_t, const SgdNumbers&, void*, const void*);
template void sgd_momentum(
    const CudaStream&, DType, std::int64_t, const SgdNumbers&, void*, const void*, void*);
template void rmsprop(const CudaStream&,
                      DType,
                      std::int64_t,
                      const RmspropNumbers&,
                      void*,
                      const void*,
                      void*,
                      void*,
                      void*);
template void adagrad(
    const CudaStream&, DType, std::int64_t, const AdagradNumbers&, void*, const void*, void*);
template void adadelta(const CudaStream&,
                       DType,
                       std::int64_t,
                       const AdadeltaNumbers&,
                       void*,
                       const void*,
                       void*,
                       void*);
template void average(const CudaStream&, DType, std::int64_t, double, const void*, void*);
template void swap(const CudaStream&, DType, std::int64_t, void*, void*);
template void scale(const CudaStream&, DType, std::int64_t, void*, const void*);
template void clamp(const CudaStream&, DType, std::int64_t, void*, double);

namespace {

template <class T>
struct FindNonfinite {
  const T* x;
  std::int32_t* flag;
  TANDEM_HD void operator()(std::int64_t i) const {
    if (!(x[i] - x[i] == T(0))) *flag = 1;  // all that write it write the same
  }
};

}  // namespace

void find_nonfinite(
    const CudaStream& s, DType t, std::int64_t n, const void* x, std::int32_t* flag) {
  with_float(t, [&]<class T>() {
    for_each(s, n, FindNonfinite<T>{static_cast<const T*>(x), flag});
  });
}

}  // namespace tandem::kernels
