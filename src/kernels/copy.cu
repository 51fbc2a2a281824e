// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/copy.hpp"
#include "kernels/copy.inl"
#include "kernels/cuda/bytes.hpp"
#include "kernels/cuda/map.hpp"

namespace tandem::kernels {
namespace {

// Bits of one size, whatever they mean.
template <class T>
void copy_bits(const CudaStream& s, const View& x, const View& y) {
  map<T, T>(s, Convert<T>{}, y, x);
}

/// Copies bytes that lie in one order without gaps. @return  false, with nothing done: they do not.
bool copy_dense(const CudaStream& s, const View& x, const View& y) {
  const KernelPlan plan = make_kernel_plan({&y, &x});
  if (plan.numel > 0 && !is_dense(plan, 2)) return false;
  copy_bytes(s, x.data, y.data, static_cast<std::size_t>(plan.numel) * itemsize(x.dtype));
  return true;
}

}  // namespace

void copy(const CudaStream& s, const View& x, const View& y) {
  if (x.dtype == y.dtype && copy_dense(s, x, y)) return;
  if (x.dtype != y.dtype) {
    return with_dtype(x.dtype, [&]<class From>() {
      with_dtype(y.dtype, [&]<class To>() { map<To, From>(s, Convert<To>{}, y, x); });
    });
  }
  switch (itemsize(x.dtype)) {
    case 1:
      return copy_bits<std::uint8_t>(s, x, y);
    case 2:
      return copy_bits<std::uint16_t>(s, x, y);
    case 4:
      return copy_bits<std::uint32_t>(s, x, y);
    default:
      return copy_bits<std::uint64_t>(s, x, y);
  }
}

}  // namespace tandem::kernels
