// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/conv_weight_grad.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "kernels/for_each.hpp"
#include "kernels/pack_columns.hpp"
#include "kernels/unpacked_gemm.hpp"
#include "kernels/workspace.hpp"

// dweight = patches transposed @ dy, where K = patch and the sum goes over all pixels of dy.
//
// - A piece is some neighbouring pixels of dy: their factors stay in the first- and second-level
//   caches while all K x o sums are continued.
// - The strip is the part of the padded image behind a piece, a slab for each block of channels. A
//   pixel of a slab is a cache line, so the lines of a piece do not displace each other, whatever
//   the number of channels. An element of x behind pixel p at tap k is strip[pixel[p] + tap[k]].
// - A panel is the two vectors of output channels that a tile of sums is wide. dy is packed and the
//   sums lie in panels, so both are read in the order in which they lie.
// - A segment is the rows of dy that one array of sums is made of. Its number depends on the sizes
//   alone, and segments are added up in their order: that makes the bits. Threads share the
//   segments' blocks of channels.
namespace tandem::kernels {
namespace {

constexpr std::int64_t kPiecePixels = 128;
constexpr std::int64_t kGroupTaps = 288;       ///< that a panel of dy is multiplied with at once
constexpr std::int64_t kSegmentPixels = 1024;  ///< at least: what makes up for the sums' addition
constexpr std::int64_t kMostSegments = 64;
constexpr std::int64_t kSumsBytes = 2 * 1024 * 1024;  ///< of all segments, if there are several

/// to = from, without the compiler's checks for the overlap and the length of long loops.
template <class T>
void copy_run(const T* from, T* to, std::int64_t n) {
  constexpr std::int64_t kStep = std::min<std::int64_t>(8, kLanes<T>);
  std::int64_t i = 0;
  for (; i + kStep <= n; i += kStep)
    store<T, kStep>(load<T, kStep>(from + i), to + i);
#pragma GCC unroll 1
  for (; i < n; ++i)
    to[i] = from[i];
}

/// One axis of the image. Where the window is one pixel, those that the stride leaves out are not
/// in the strip.
struct Axis {
  std::int64_t size, stride, padding, window, dilation;
  std::int64_t skip = window == 1 ? stride : 1;  ///< pixels of the image for one of the strip
  std::int64_t move = stride / skip;             ///< pixels of the strip for one of dy

  Axis(const ConvSize& z, std::size_t a)
      : size(a == 0 ? z.h : z.w),
        stride(z.stride[a]),
        padding(z.padding[a]),
        window(a == 0 ? z.kh : z.kw),
        dilation(z.dilation[a]) {}

  /// Pixels of the strip behind `n` of dy.
  std::int64_t extent(std::int64_t n) const { return (n - 1) * move + (window - 1) * dilation + 1; }
  /// Where the image has the strip's first pixel.
  std::int64_t origin(std::int64_t first) const { return first * stride - padding; }
};

/// Pixels of dy: rows [row, row + rows) and columns [column, column + columns) of an image, or
/// several whole images.
struct Piece {
  std::int64_t image, row, column, images, rows, columns;

  std::int64_t pixels() const { return images * rows * columns; }
};

template <class T>
struct WeightGrad {
  static constexpr std::int64_t kLine = 64 / static_cast<std::int64_t>(sizeof(T));
  static constexpr std::int64_t kPanel = 2 * kLanes<T>;
  const HostStream& s;
  const ConvSize& z;
  Axis down{z, 0}, across{z, 1};
  std::int64_t patch = z.patch();
  std::int64_t block = z.c % kLine == 0 ? kLine : z.c;  ///< channels of a slab
  std::int64_t blocks = z.c / block;
  std::int64_t block_taps = block * z.kh * z.kw;
  std::int64_t group = std::max<std::int64_t>(1, kGroupTaps / block_taps);  ///< blocks at once

  // Of the largest piece.
  std::int64_t columns = z.ow <= 2 * kPiecePixels ? z.ow : kPiecePixels;
  std::int64_t rows = columns < z.ow ? 1 : std::clamp<std::int64_t>(kPiecePixels / z.ow, 1, z.oh);
  std::int64_t images =
      rows < z.oh ? 1 : std::clamp<std::int64_t>(kPiecePixels / (z.ow * z.oh), 1, z.n);
  std::int64_t pixels = images * rows * columns;
  std::int64_t height = down.extent(rows), width = across.extent(columns);  ///< of a slab's image
  std::int64_t slab = images * height * width * block;
  std::int64_t strip = whole_vectors<T>(blocks * slab);
  /// Where dy's rows are short and few products share them, they are read as they lie.
  bool packs = z.o > 4 * kPanel || patch > 160;

  std::int64_t segments = std::clamp<std::int64_t>(
      std::min({z.rows() * z.ow / kSegmentPixels, z.rows(), kSumsBytes / sums_bytes()}),
      1,
      kMostSegments);
  std::int64_t sums = patch * z.o + z.o;  ///< of a segment: of weights, then of the bias
  std::int64_t scratch = strip + (packs ? pixels * z.o : 0);
  Workspace<std::int64_t> tables{s.device, pixels + patch};
  std::int64_t* pixel = tables.data();
  std::int64_t* tap = pixel + pixels;

  WeightGrad(const HostStream& stream, const ConvSize& size) : s(stream), z(size) {
    if (!s.computes) return;
    for (std::int64_t p = 0; p < pixels; ++p) {
      const std::int64_t line = p / columns, image = line / rows;
      pixel[p] =
          ((image * height + line % rows * down.move) * width + p % columns * across.move) * block;
    }
    for (std::int64_t k = 0; k < patch; ++k) {
      const std::int64_t c = k / (z.kh * z.kw), i = k / z.kw % z.kh, j = k % z.kw;
      tap[k] =
          c / block * slab + (i * down.dilation * width + j * across.dilation) * block + c % block;
    }
  }

  std::int64_t sums_bytes() const { return patch * z.o * static_cast<std::int64_t>(sizeof(T)); }

  /// Calls f for the pieces of the rows [begin, end), counted over all images.
  template <class F>
  void for_pieces(std::int64_t begin, std::int64_t end, F f) const {
    for (std::int64_t row = begin; row < end;) {
      Piece c{row / z.oh, row % z.oh, 0, 1, 0, 0};
      c.rows = std::min({rows, end - row, z.oh - c.row});
      if (c.rows == z.oh) c.images = std::min(images, (end - row) / z.oh);
      for (; c.column < z.ow; c.column += columns) {
        c.columns = std::min(columns, z.ow - c.column);
        f(c);
      }
      row += c.images * c.rows;
    }
  }

  const T* dy_at(const T* dy, const Piece& c) const {
    return dy + ((c.image * z.oh + c.row) * z.ow + c.column) * z.o;
  }

  /// The slabs of the blocks [first, last).
  void gather(const Piece& c, const T* x, std::int64_t first, std::int64_t last, T* to) const {
    for (std::int64_t image = 0; image < c.images; ++image) {
      for (std::int64_t i = 0; i < down.extent(c.rows); ++i) {
        const std::int64_t y = down.origin(c.row) + i * down.skip;
        T* const line = to + (image * height + i) * width * block;
        if (y >= 0 && y < z.h) {
          gather_line(c, x + ((c.image + image) * z.h + y) * z.w * z.c, first, last, line);
          continue;
        }
        for (std::int64_t b = first; b < last; ++b)
          std::fill_n(line + b * slab, width * block, T(0));
      }
    }
  }

  void gather_line(const Piece& c, const T* x, std::int64_t first, std::int64_t last, T* to) const {
    const std::int64_t origin = across.origin(c.column), skip = across.skip;
    const auto until = [&](std::int64_t end) {  // pixels of the strip before the image's `end`
      return std::clamp<std::int64_t>((end - origin + skip - 1) / skip, 0, width);
    };
    const std::int64_t left = origin < 0 ? until(0) : 0, right = origin < z.w ? until(z.w) : 0;
    for (std::int64_t b = first; b < last; ++b) {
      std::fill_n(to + b * slab, left * block, T(0));
      std::fill_n(to + b * slab + right * block, (width - right) * block, T(0));
    }
    for (std::int64_t j = left; j < right; ++j) {
      const T* const from = x + (origin + j * skip) * z.c;
      for (std::int64_t b = first; b < last; ++b)
        copy_run(from + b * block, to + b * slab + j * block, block);
    }
  }

  /// dy in panels of `n` rows.
  void pack(const T* dy, std::int64_t n, T* to) const {
    for (std::int64_t p = 0; p < n; ++p) {
      for (std::int64_t o = 0; o < z.o; o += kPanel) {
        const std::int64_t w = std::min(kPanel, z.o - o);
        copy_run(dy + p * z.o + o, to + o * n + p * w, w);
      }
    }
  }

  /// Continues the sums of blocks [first, last) by a piece; `begun`: there are some.
  void add_piece(const Piece& c,
                 const T* dy,
                 std::int64_t first,
                 std::int64_t last,
                 bool begun,
                 const T* image,
                 T* packed,
                 T* dw) const {
    const std::int64_t n = c.pixels();
    if (packs) pack(dy, n, packed);
    for (std::int64_t b = first; b < last; b += group) {
      const std::int64_t k = b * block_taps, depth = (std::min(b + group, last) - b) * block_taps;
      for (std::int64_t o = 0; o < z.o; o += kPanel) {
        const std::int64_t w = std::min(kPanel, z.o - o);
        T* const to = dw + o * patch + k * w;
        unpacked_gemm<T>({depth, w, n},
                         IndexedOperand<T>{image, tap + k, pixel},
                         packs ? Rows<const T>{packed + o * n, w} : Rows<const T>{dy + o, z.o},
                         {begun ? to : nullptr, w},
                         {to, w});
      }
    }
  }

  void add_bias(const T* dy, std::int64_t n, T* dbias) const {
    for (std::int64_t p = 0; p < n; ++p) {
      for (std::int64_t o = 0; o < z.o; ++o)
        dbias[o] += dy[p * z.o + o];
    }
  }

  /// The sums of a segment for blocks [first, last); those of the bias with the first one.
  void sum_segment(std::int64_t segment,
                   std::int64_t first,
                   std::int64_t last,
                   const T* dy,
                   const T* x,
                   bool biased,
                   T* work,
                   T* dw) const {
    T* const dbias = biased && first == 0 ? dw + patch * z.o : nullptr;
    if (dbias != nullptr) std::fill_n(dbias, z.o, T(0));
    bool begun = false;
    const std::int64_t begin = z.rows() * segment / segments;
    for_pieces(begin, z.rows() * (segment + 1) / segments, [&](const Piece& c) {
      gather(c, x, first, last, work);
      add_piece(c, dy_at(dy, c), first, last, begun, work, work + strip, dw);
      if (dbias != nullptr) add_bias(dy_at(dy, c), c.pixels(), dbias);
      begun = true;
    });
  }

  /// Adds up the segments of sums [begin, end), in their order.
  void add_segments(std::int64_t begin, std::int64_t end, T* total) const {
    for (std::int64_t t = 1; t < segments; ++t) {
      for (std::int64_t i = begin; i < end; ++i)
        total[i] += total[t * sums + i];
    }
  }

  void run(const T* dy, const T* x, T* dweight, T* dbias) const {
    const std::int64_t parts =
        std::min<std::int64_t>(blocks, s.threads / std::gcd<std::int64_t>(segments, s.threads));
    const std::int64_t units = segments * parts, tiles = tile_count(s, units, 1);
    const Workspace<T> workspace(s.device, segments * sums + tiles * scratch);
    if (!s.computes) return;
    T* const total = workspace.data();
    for_each_tile(s, tiles, [&](std::int64_t t) {
      T* const work = total + segments * sums + t * scratch;
      for (std::int64_t u = units * t / tiles; u < units * (t + 1) / tiles; ++u) {
        const std::int64_t segment = u / parts, part = u % parts;
        sum_segment(segment,
                    blocks * part / parts,
                    blocks * (part + 1) / parts,
                    dy,
                    x,
                    dbias != nullptr,
                    work,
                    total + segment * sums);
      }
    });
    const std::int64_t panels = (z.o + kPanel - 1) / kPanel;
    const std::int64_t shares = std::min(panels, tile_count(s, sums, kGrain));
    for_each_tile(s, shares, [&](std::int64_t t) {
      for (std::int64_t i = panels * t / shares; i < panels * (t + 1) / shares; ++i) {
        const std::int64_t o = i * kPanel, w = std::min(kPanel, z.o - o), at = o * patch;
        add_segments(at, at + patch * w, total);
        pack_columns<T>({total + at, w}, patch, w, {dweight + at, patch}, patch);
      }
    });
    if (dbias == nullptr) return;
    add_segments(patch * z.o, sums, total);
    std::copy_n(total + patch * z.o, z.o, dbias);
  }
};

}  // namespace

template <class T>
void weight_grad(const HostStream& s,
                 const ConvSize& z,
                 const View& dy,
                 const View& x,
                 const View& dweight,
                 const View& dbias) {
  WeightGrad<T>(s, z).run(dy.as<T>(), x.as<T>(), dweight.as<T>(), dbias.as<T>());
}

template void weight_grad<float>(
    const HostStream&, const ConvSize&, const View&, const View&, const View&, const View&);
template void weight_grad<double>(
    const HostStream&, const ConvSize&, const View&, const View&, const View&, const View&);

}  // namespace tandem::kernels
