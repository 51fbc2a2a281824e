// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Kernels of random numbers, for both backends. A draw is one Philox block of four words.
#pragma once

#include <algorithm>

#include <Random123/boxmuller.hpp>
#include <Random123/philox.h>

#include "kernels/copy.inl"
#include "kernels/divisor.hpp"
#include "kernels/element.hpp"
#include "kernels/random.hpp"

namespace tandem::kernels {

/// Four words at `place` of the stream (key, draw).
TANDEM_HD inline philox4x32_ctr_t philox(std::uint64_t key,
                                         std::uint64_t draw,
                                         std::uint64_t place) {
  const philox4x32_ctr_t counter = {{static_cast<std::uint32_t>(place),
                                     static_cast<std::uint32_t>(place >> 32),
                                     static_cast<std::uint32_t>(draw),
                                     static_cast<std::uint32_t>(draw >> 32)}};
  const philox4x32_key_t k = {
      {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)}};
  return philox4x32(counter, k);
}

/// Two of the four words as one.
TANDEM_HD inline std::uint64_t wide(const philox4x32_ctr_t& w, int i) {
  return static_cast<std::uint64_t>(w.v[2 * i + 1]) << 32 | w.v[2 * i];
}

/// A draw makes `kNumbers` numbers at once.
template <class T>
struct Uniform;
template <>
struct Uniform<float> {
  static constexpr int kNumbers = 4;
  TANDEM_HD void operator()(const philox4x32_ctr_t& w, float* y) const {
    for (int i = 0; i < 4; ++i)
      y[i] = static_cast<float>(w.v[i] >> 8) * 0x1p-24f;
  }
};
template <>
struct Uniform<double> {
  static constexpr int kNumbers = 2;
  TANDEM_HD void operator()(const philox4x32_ctr_t& w, double* y) const {
    for (int i = 0; i < 2; ++i)
      y[i] = static_cast<double>(wide(w, i) >> 11) * 0x1p-53;
  }
};

/// Has as many bits as T's fraction holds: rounded, a number just below 1 would become 1.
template <class T>
struct ShortUniform {
  static constexpr int kNumbers = 4;
  static constexpr int kBits = std::is_same_v<T, BFloat16> ? 8 : 11;
  TANDEM_HD void operator()(const philox4x32_ctr_t& w, float* y) const {
    for (int i = 0; i < 4; ++i)
      y[i] = static_cast<float>(w.v[i] >> (32 - kBits)) / static_cast<float>(1 << kBits);
  }
};
template <>
struct Uniform<BFloat16> : ShortUniform<BFloat16> {};
template <>
struct Uniform<Half> : ShortUniform<Half> {};

template <class T>
struct Normal;
template <>
struct Normal<float> {
  static constexpr int kNumbers = 4;
  TANDEM_HD void operator()(const philox4x32_ctr_t& w, float* y) const {
    for (int i = 0; i < 2; ++i) {
      const auto pair = r123::boxmuller(w.v[2 * i], w.v[2 * i + 1]);
      y[2 * i] = pair.x;
      y[2 * i + 1] = pair.y;
    }
  }
};
template <>
struct Normal<double> {
  static constexpr int kNumbers = 2;
  TANDEM_HD void operator()(const philox4x32_ctr_t& w, double* y) const {
    const auto pair = r123::boxmuller(wide(w, 0), wide(w, 1));
    y[0] = pair.x;
    y[1] = pair.y;
  }
};

/// Bias of the remainder: below range / 2^64.
template <class T>
struct RandInt {
  static constexpr int kNumbers = 2;
  std::int64_t low;
  std::uint64_t range;
  TANDEM_HD void operator()(const philox4x32_ctr_t& w, T* y) const {
    for (int i = 0; i < 2; ++i) {
      y[i] = Convert<T>{}(
          static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + wide(w, i) % range));
    }
  }
};

/// Where the elements of a dense tensor are, in row-major order.
struct InOrder {
  TANDEM_HD std::int64_t operator()(std::int64_t i) const { return i; }
};
/// The same for any strides.
struct ByStrides {
  int ndim = 0;
  Divisor sizes[kMaxDims] = {};
  std::int64_t strides[kMaxDims] = {};
  TANDEM_HD std::int64_t operator()(std::int64_t i) const {
    std::int64_t at = 0;
    for (int d = ndim - 1; d >= 0; --d) {
      const auto [rest, index] = sizes[d].split(i);
      at += index * strides[d];
      i = rest;
    }
    return at;
  }
};

/// Draw number `i` fills elements [i * kNumbers, (i + 1) * kNumbers) of y, or what there is of
/// them: in row-major order, however y lies.
template <class T, class Make, class Place>
struct Draw {
  std::uint64_t seed;
  std::uint64_t draw;
  std::int64_t n;
  T* y;
  Make make;
  Place place;
  TANDEM_HD void operator()(std::int64_t i) const {
    compute_t<T> made[Make::kNumbers];
    make(philox(seed, draw, static_cast<std::uint64_t>(i)), made);
    for (std::int64_t k = 0; k < Make::kNumbers; ++k) {
      if (i * Make::kNumbers + k < n) y[place(i * Make::kNumbers + k)] = store<T>(made[k]);
    }
  }
};

/// The same for a tensor that is a part of a larger one: it fills those of the numbers that a block
/// of four words gives which are the part's.
template <class T, class Make, class Place>
struct DrawPart {
  RandomPlace part;
  Divisor blocks;  // that a run touches, at most
  T* y;
  Make make;
  Place place;
  TANDEM_HD void operator()(std::int64_t i) const {
    const auto [run, ahead] = blocks.split(i);
    const std::int64_t begin = part.begin + run * part.stride;
    const std::int64_t block = begin / Make::kNumbers + ahead;
    compute_t<T> made[Make::kNumbers];
    make(philox(part.seed, part.draw, static_cast<std::uint64_t>(block)), made);
    for (std::int64_t k = 0; k < Make::kNumbers; ++k) {
      const std::int64_t at = block * Make::kNumbers + k - begin;
      if (at >= 0 && at < part.length) y[place(run * part.length + at)] = store<T>(made[k]);
    }
  }
};

namespace detail {

inline ByStrides strides_of(const View& y) {
  ByStrides place{.ndim = y.shape.size()};
  std::transform(
      y.shape.begin(), y.shape.end(), place.sizes, [](std::int64_t size) { return Divisor(size); });
  std::copy_n(y.strides.begin(), place.ndim, place.strides);
  return place;
}

template <class T, class Make, class S, class Place>
void run(const S& s, const RandomPlace& part, const View& y, Make make, Place place) {
  const std::int64_t n = y.numel();
  if (n == 0) return;
  if (part.length < 0) {
    const std::int64_t draws = (n + Make::kNumbers - 1) / Make::kNumbers;
    return for_each(
        s, draws, Draw<T, Make, Place>{part.seed, part.draw, n, y.as<T>(), make, place});
  }
  const std::int64_t blocks = (part.length + 2 * (Make::kNumbers - 1)) / Make::kNumbers;
  for_each(s,
           n / part.length * blocks,
           DrawPart<T, Make, Place>{part, Divisor(blocks), y.as<T>(), make, place});
}

template <class T, class Make, class S>
void run(const S& s, const RandomPlace& part, const View& y, Make make) {
  if (y.contiguous())
    run<T>(s, part, y, make, InOrder{});
  else
    run<T>(s, part, y, make, strides_of(y));
}

}  // namespace detail

template <class S>
void uniform(const S& s, const RandomPlace& place, const View& y) {
  with_any_float(y.dtype, [&]<class T>() { detail::run<T>(s, place, y, Uniform<T>{}); });
}

template <class S>
void normal(const S& s, const RandomPlace& place, const View& y) {
  with_any_float(y.dtype, [&]<class T>() { detail::run<T>(s, place, y, Normal<compute_t<T>>{}); });
}

template <class S>
void randint(
    const S& s, const RandomPlace& place, std::int64_t low, std::int64_t high, const View& y) {
  const std::uint64_t range = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  with_dtype(y.dtype, [&]<class T>() {
    detail::run<T>(s, place, y, RandInt<compute_t<T>>{low, range});
  });
}

}  // namespace tandem::kernels
