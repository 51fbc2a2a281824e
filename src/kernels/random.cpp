// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/random.hpp"

#include <algorithm>

#include "kernels/random.inl"

namespace tandem::kernels {
namespace {

ByStrides strides_of(const View& y) {
  ByStrides place{.ndim = y.shape.size()};
  std::copy_n(y.shape.begin(), place.ndim, place.sizes);
  std::copy_n(y.strides.begin(), place.ndim, place.strides);
  return place;
}

template <class T, class Make>
void run(const HostStream& s, std::uint64_t seed, std::uint64_t draw, const View& y, Make make) {
  const std::int64_t n = y.numel(), draws = (n + Make::kMade - 1) / Make::kMade;
  if (y.contiguous())
    for_each(s, draws, Draw<T, Make, InOrder>{seed, draw, n, y.as<T>(), make, {}});
  else
    for_each(s, draws, Draw<T, Make, ByStrides>{seed, draw, n, y.as<T>(), make, strides_of(y)});
}

}  // namespace

void uniform(const HostStream& s, std::uint64_t seed, std::uint64_t draw, const View& y) {
  with_float(y.dtype, [&]<class T>() { run<T>(s, seed, draw, y, Uniform<T>{}); });
}

void normal(const HostStream& s, std::uint64_t seed, std::uint64_t draw, const View& y) {
  with_float(y.dtype, [&]<class T>() { run<T>(s, seed, draw, y, Normal<T>{}); });
}

void randint(const HostStream& s,
             std::uint64_t seed,
             std::uint64_t draw,
             std::int64_t low,
             std::int64_t high,
             const View& y) {
  const std::uint64_t range = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  with_dtype(y.dtype, [&]<class T>() { run<T>(s, seed, draw, y, RandInt<T>{low, range}); });
}

}  // namespace tandem::kernels
