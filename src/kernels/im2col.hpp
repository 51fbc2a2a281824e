// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/conv.hpp"
#include "kernels/gemm.hpp"

namespace tandem::kernels {

/// Whole rows of output pixels of one channel group: what one GEMM of a convolution works on.
///
/// P = pixels = rows * ow; K = patch = elements of x behind a pixel; og, cg = channels of the
/// group.
struct ConvBlock {
  std::int64_t group = 0;
  std::int64_t row = 0;   ///< first, counted over all images
  std::int64_t rows = 0;  ///< channels-first: all of one image

  std::int64_t pixels(const ConvSize& z) const noexcept { return rows * z.ow; }
};

/// Where channels-last x, y and their patches lie: pixels outside, channels inside. A patch is (kh,
/// kw, cg).
template <class T>
struct ChannelsLast {
  const ConvSize& z;

  std::int64_t cg() const noexcept { return z.c / z.groups; }
  T* x_at(T* x, const ConvBlock& b) const noexcept {
    return x + b.row * z.w * z.c + b.group * cg();
  }
  T* y_at(T* y, const ConvBlock& b) const noexcept {
    return y + b.row * z.ow * z.o + b.group * (z.o / z.groups);
  }
  /// P x K, P x K of a pointwise convolution's x, P x og.
  Operand<T> patches(const T* col, const ConvBlock&) const noexcept {
    return {col, {MatrixOrder::row_major, z.patch()}};
  }
  Operand<T> x_operand(const T* x, const ConvBlock& b) const noexcept {
    return {x_at(const_cast<T*>(x), b), {MatrixOrder::row_major, z.c}};
  }
  Operand<T> y_operand(const T* y, const ConvBlock& b) const noexcept {
    return {y_at(const_cast<T*>(y), b), {MatrixOrder::row_major, z.o}};
  }

  /// Calls f(offset in col, offset in x or -1 outside the image, length) for runs of channels.
  template <class F>
  void for_runs(const ConvBlock& b, F f) const {
    const std::int64_t run = cg();
    std::int64_t at = 0;
    for (std::int64_t r = b.row; r < b.row + b.rows; ++r) {
      const std::int64_t image = r / z.oh, top = r % z.oh * z.stride[0] - z.padding[0];
      for (std::int64_t ox = 0; ox < z.ow; ++ox) {
        const std::int64_t left = ox * z.stride[1] - z.padding[1];
        for (std::int64_t i = 0; i < z.kh; ++i) {
          const std::int64_t iy = top + i * z.dilation[0];
          const std::int64_t line = ((image * z.h + iy) * z.w) * z.c + b.group * run;
          const bool inside = iy >= 0 && iy < z.h;
          if (inside && z.groups == 1 && z.dilation[1] == 1 && left >= 0 && left + z.kw <= z.w) {
            f(at, line + left * z.c, z.kw * run);  // the whole line of the patch at once
            at += z.kw * run;
            continue;
          }
          for (std::int64_t j = 0; j < z.kw; ++j, at += run) {
            const std::int64_t ix = left + j * z.dilation[1];
            f(at, inside && ix >= 0 && ix < z.w ? line + ix * z.c : -1, run);
          }
        }
      }
    }
  }

  void gather(const ConvBlock& b, const T* x, T* col) const {
    for_runs(b, [&](std::int64_t at, std::int64_t from, std::int64_t n) {
      if (from < 0)
        std::fill_n(col + at, n, T(0));
      else
        std::copy_n(x + from, n, col + at);
    });
  }

  void scatter(const ConvBlock& b, const T* col, T* dx) const {
    for_runs(b, [&](std::int64_t at, std::int64_t to, std::int64_t n) {
      if (to < 0) return;
      for (std::int64_t i = 0; i < n; ++i)
        dx[to + i] += col[at + i];
    });
  }
};

/// The same for row-major x and y: channels outside, pixels inside. A patch is (cg, kh, kw).
template <class T>
struct ChannelsFirst {
  const ConvSize& z;

  std::int64_t cg() const noexcept { return z.c / z.groups; }
  T* x_at(T* x, const ConvBlock& b) const noexcept {
    return x + ((b.row / z.oh * z.c + b.group * cg()) * z.h + b.row % z.oh) * z.w;
  }
  T* y_at(T* y, const ConvBlock& b) const noexcept {
    return y + ((b.row / z.oh * z.o + b.group * (z.o / z.groups)) * z.oh + b.row % z.oh) * z.ow;
  }
  Operand<T> patches(const T* col, const ConvBlock& b) const noexcept {
    return {col, {MatrixOrder::column_major, b.pixels(z)}};
  }
  Operand<T> x_operand(const T* x, const ConvBlock& b) const noexcept {
    return {x_at(const_cast<T*>(x), b), {MatrixOrder::column_major, z.h * z.w}};
  }
  Operand<T> y_operand(const T* y, const ConvBlock& b) const noexcept {
    return {y_at(const_cast<T*>(y), b), {MatrixOrder::column_major, z.oh * z.ow}};
  }

  /// Calls f(offset in col, offset in x of the output column 0, first, last): columns [first, last)
  /// are inside the image.
  template <class F>
  void for_lines(const ConvBlock& b, F f) const {
    const std::int64_t image = b.row / z.oh;
    std::int64_t at = 0;
    for (std::int64_t k = 0; k < z.patch(); ++k) {
      const std::int64_t channel = image * z.c + b.group * cg() + k / (z.kh * z.kw);
      const std::int64_t dy = k / z.kw % z.kh * z.dilation[0] - z.padding[0];
      const std::int64_t dx = k % z.kw * z.dilation[1] - z.padding[1];
      const std::int64_t step = z.stride[1];
      const std::int64_t first = std::clamp<std::int64_t>((step - 1 - dx) / step, 0, z.ow);
      const std::int64_t last =
          std::clamp<std::int64_t>((z.w - 1 - dx) < 0 ? 0 : (z.w - 1 - dx) / step + 1, first, z.ow);
      for (std::int64_t r = b.row % z.oh; r < b.row % z.oh + b.rows; ++r, at += z.ow) {
        const std::int64_t iy = r * z.stride[0] + dy;
        const bool inside = iy >= 0 && iy < z.h;
        f(at, (channel * z.h + iy) * z.w + dx, inside ? first : 0, inside ? last : 0);
      }
    }
  }

  void gather(const ConvBlock& b, const T* x, T* col) const {
    const std::int64_t step = z.stride[1];
    for_lines(b, [&](std::int64_t at, std::int64_t from, std::int64_t first, std::int64_t last) {
      std::fill_n(col + at, first, T(0));
      for (std::int64_t i = first; i < last; ++i)
        col[at + i] = x[from + i * step];
      std::fill_n(col + at + last, z.ow - last, T(0));
    });
  }

  void scatter(const ConvBlock& b, const T* col, T* dx) const {
    const std::int64_t step = z.stride[1];
    for_lines(b, [&](std::int64_t at, std::int64_t to, std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i)
        dx[to + i * step] += col[at + i];
    });
  }
};

}  // namespace tandem::kernels
