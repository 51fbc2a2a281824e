// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/random.hpp"

#include "kernels/random.inl"

namespace tandem::kernels {
namespace {

template <class T, class Make>
void run(const HostStream& s, std::uint64_t seed, std::uint64_t draw, const View& y, Make make) {
  const std::int64_t n = y.numel();
  for_each(s, (n + Make::kMade - 1) / Make::kMade, Draw<T, Make>{seed, draw, n, y.as<T>(), make});
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
