// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/conv_direct.hpp"

#include <algorithm>

#include "kernels/copy.hpp"
#include "kernels/for_each.hpp"
#include "kernels/vector.hpp"
#include "kernels/workspace.hpp"

// A chunk is some output rows of one image; its strip is the part of the padded image that they are
// made of. An element of x behind pixel p at tap k of the patch is strip[pixel[p] + tap[k]]: the
// matrix of patches, and by changing the tables' roles its transpose, without being written down.
namespace tandem::kernels {
namespace {

constexpr std::int64_t kChunkPixels = 64;  ///< of y: stay in the first-level cache

struct Chunk {
  std::int64_t image, row, rows;  ///< row of the image
};

/// to += from, without the compiler's checks for the overlap and the length of long loops.
template <class T>
void add_run(const T* from, T* to, std::int64_t n) {
  constexpr std::int64_t kStep = std::min<std::int64_t>(8, kLanes<T>);
  std::int64_t i = 0;
  for (; i + kStep <= n; i += kStep)
    store<T, kStep>(load<T, kStep>(to + i) + load<T, kStep>(from + i), to + i);
#pragma GCC unroll 1
  for (; i < n; ++i)
    to[i] += from[i];
}

template <class T>
struct Direct {
  const HostStream& s;
  const ConvSize& z;
  std::int64_t patch = z.patch();
  std::int64_t chunk_rows = std::clamp<std::int64_t>(kChunkPixels / z.ow, 1, z.oh);
  std::int64_t pixels = chunk_rows * z.ow;
  std::int64_t line = (z.w + 2 * z.padding[1]) * z.c;  ///< of a strip
  std::int64_t strip = whole_vectors<T>(strip_rows(chunk_rows) * line);
  std::int64_t padded_patch = whole_vectors<T>(patch);
  Workspace<std::int64_t> tables{s.device, 2 * pixels + patch + z.o};
  std::int64_t* pixel = tables.data();
  std::int64_t* y_pixel = pixel + pixels;
  std::int64_t* tap = y_pixel + pixels;
  std::int64_t* channel = tap + patch;

  Direct(const HostStream& stream, const ConvSize& size) : s(stream), z(size) {
    if (!s.computes) return;
    for (std::int64_t p = 0; p < pixels; ++p) {
      pixel[p] = p / z.ow * z.stride[0] * line + p % z.ow * z.stride[1] * z.c;
      y_pixel[p] = p * z.o;
    }
    for (std::int64_t k = 0; k < patch; ++k) {
      const std::int64_t i = k / (z.kw * z.c), j = k / z.c % z.kw;
      tap[k] = i * z.dilation[0] * line + j * z.dilation[1] * z.c + k % z.c;
    }
    for (std::int64_t o = 0; o < z.o; ++o)
      channel[o] = o;
  }

  std::int64_t strip_rows(std::int64_t rows) const {
    return (rows - 1) * z.stride[0] + (z.kh - 1) * z.dilation[0] + 1;
  }

  /// Calls f for the chunks of the output rows [begin, end), counted over all images.
  template <class F>
  void for_chunks(std::int64_t begin, std::int64_t end, F f) const {
    for (std::int64_t row = begin; row < end;) {
      const Chunk chunk{
          row / z.oh, row % z.oh, std::min({chunk_rows, end - row, z.oh - row % z.oh})};
      f(chunk);
      row += chunk.rows;
    }
  }

  T* y_at(T* y, const Chunk& c) const { return y + (c.image * z.oh + c.row) * z.ow * z.o; }

  /// Calls f(offset in the strip, offset in x) for the lines of x that the strip has.
  template <class F>
  void for_lines(const Chunk& c, F f) const {
    const std::int64_t top = c.row * z.stride[0] - z.padding[0];
    for (std::int64_t i = 0; i < strip_rows(c.rows); ++i) {
      if (top + i >= 0 && top + i < z.h)
        f(i * line + z.padding[1] * z.c, (c.image * z.h + top + i) * z.w * z.c);
    }
  }

  void gather(const Chunk& c, const T* x, T* to) const {
    std::fill_n(to, strip_rows(c.rows) * line, T(0));
    for_lines(
        c, [&](std::int64_t at, std::int64_t from) { std::copy_n(x + from, z.w * z.c, to + at); });
  }

  /// Adds the strip to dx.
  void scatter(const Chunk& c, const T* from, T* dx) const {
    for_lines(c, [&](std::int64_t at, std::int64_t to) {
      for (std::int64_t i = 0; i < z.w * z.c; ++i)
        dx[to + i] += from[at + i];
    });
  }

  /// The strip's gradient from the chunk's patches.
  ///
  /// Those of neighbours overlap, and a load would wait for the store before it: every kw-th in
  /// turn.
  void fold(const Chunk& c, const T* patches, T* to) const {
    const std::int64_t run = z.dilation[1] == 1 ? z.kw * z.c : z.c;
    std::fill_n(to, strip_rows(c.rows) * line, T(0));
    for (std::int64_t first = 0; first < z.kw; ++first) {
      for (std::int64_t p = first; p < c.rows * z.ow; p += z.kw) {
        for (std::int64_t k = 0; k < patch; k += run)
          add_run(patches + p * padded_patch + k, to + pixel[p] + tap[k], run);
      }
    }
  }

  /// Weights in memory, seen in the order of the logical shape (o, c, kh, kw).
  View weights(T* data, DType t, std::int64_t o_step, std::int64_t k_step) const {
    return {data, t, {z.o, z.c, z.kh, z.kw}, {o_step, k_step, z.kw * z.c * k_step, z.c * k_step}};
  }

  void forward(const View& x, const View& w, const T* bias, T* y) const {
    const std::int64_t tiles = tile_count(s, z.rows(), 1);
    const Workspace<T> workspace(s.device, patch * z.o + tiles * strip);
    if (!s.computes) return;
    T* const by_tap = workspace.data();
    copy(s, w, weights(by_tap, w.dtype, 1, z.o));
    for_each_tile(s, tiles, [&](std::int64_t t) {
      T* const image = by_tap + patch * z.o + t * strip;
      for_chunks(z.rows() * t / tiles, z.rows() * (t + 1) / tiles, [&](const Chunk& c) {
        gather(c, x.as<T>(), image);
        unpacked_gemm<T>({c.rows * z.ow, z.o, patch},
                         {image, pixel, tap},
                         {by_tap, z.o},
                         {bias, 0},
                         {y_at(y, c), z.o});
      });
    });
  }

  void input_grad(T* dy, const View& w, T* dx) const {
    const std::int64_t tiles = tile_count(s, z.n, 1);  // whole images: strips overlap
    const std::int64_t filter = z.o * padded_patch, part = strip + pixels * padded_patch;
    const Workspace<T> workspace(s.device, filter + tiles * part);
    if (!s.computes) return;
    T* const by_channel = workspace.data();
    std::fill_n(by_channel, filter, T(0));
    copy(s, w, weights(by_channel, w.dtype, padded_patch, 1));
    for_each_tile(s, tiles, [&](std::int64_t t) {
      const std::int64_t begin = z.n * t / tiles, end = z.n * (t + 1) / tiles;
      T* const image = by_channel + filter + t * part;
      T* const patches = image + strip;
      std::fill(dx + begin * z.h * z.w * z.c, dx + end * z.h * z.w * z.c, T(0));
      for_chunks(begin * z.oh, end * z.oh, [&](const Chunk& c) {
        unpacked_gemm<T>({c.rows * z.ow, padded_patch, z.o},
                         {y_at(dy, c), y_pixel, channel},
                         {by_channel, padded_patch},
                         {},
                         {patches, padded_patch});
        fold(c, patches, image);
        scatter(c, image, dx);
      });
    });
  }
};

}  // namespace

template <class T>
void direct_forward(const HostStream& s,
                    const ConvSize& z,
                    const View& x,
                    const View& w,
                    const View& bias,
                    const View& y) {
  Direct<T>(s, z).forward(x, w, bias.as<T>(), y.as<T>());
}

template <class T>
void direct_input_grad(
    const HostStream& s, const ConvSize& z, const View& dy, const View& w, const View& dx) {
  Direct<T>(s, z).input_grad(dy.as<T>(), w, dx.as<T>());
}

template void direct_forward<float>(
    const HostStream&, const ConvSize&, const View&, const View&, const View&, const View&);
template void direct_forward<double>(
    const HostStream&, const ConvSize&, const View&, const View&, const View&, const View&);
template void direct_input_grad<float>(
    const HostStream&, const ConvSize&, const View&, const View&, const View&);
template void direct_input_grad<double>(
    const HostStream&, const ConvSize&, const View&, const View&, const View&);

}  // namespace tandem::kernels
