// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/conv.hpp"

#include <algorithm>
#include <numeric>
#include <type_traits>

#include "tandem/config.hpp"

#include "kernels/conv_direct.hpp"
#include "kernels/conv_weight_grad.hpp"
#include "kernels/copy.hpp"
#include "kernels/for_each.hpp"
#include "kernels/gemm.hpp"
#include "kernels/im2col.hpp"
#include "kernels/onednn/fast_path.hpp"
#include "kernels/widened_conv.hpp"
#include "kernels/workspace.hpp"

// Convolution as GEMM over patches (im2col), a block of output rows at a time, so that the patches
// stay in the cache. Symbols as in im2col.hpp.
namespace tandem::kernels {
namespace {

constexpr std::int64_t kPatchBytes =
    512 * 1024;  ///< of a block: half of a common second-level cache

/// x itself is the matrix of patches.
bool is_pointwise(const ConvSize& z) {
  return z.kh == 1 && z.kw == 1 && z.stride == Pair{1, 1} && z.padding == Pair{0, 0};
}

/// One convolution in one layout.
template <class T, template <class> class Layout>
struct Native {
  static constexpr bool kChannelsLast = std::is_same_v<Layout<T>, ChannelsLast<T>>;
  const HostStream& s;
  const ConvSize& z;
  Layout<T> layout{z};
  std::int64_t og = z.o / z.groups;
  std::int64_t patch = z.patch();
  bool pointwise = is_pointwise(z);

  /// Output rows of a block.
  std::int64_t block_rows() const {
    const std::int64_t row =
        std::max<std::int64_t>(1, z.ow * patch) * static_cast<std::int64_t>(sizeof(T));
    return std::clamp<std::int64_t>(
        kPatchBytes / row, 1, kChannelsLast ? std::max<std::int64_t>(1, z.rows()) : z.oh);
  }
  std::int64_t block_elements() const { return pointwise ? 0 : block_rows() * z.ow * patch; }

  /// Calls f for the blocks of rows [begin, end).
  template <class F>
  void for_blocks(std::int64_t begin, std::int64_t end, F f) const {
    const std::int64_t most = block_rows();
    for (std::int64_t row = begin; row < end;) {
      std::int64_t rows = std::min(most, end - row);
      if (!kChannelsLast)
        rows = std::min(rows, z.oh - row % z.oh);  // rows of one image lie together
      for (std::int64_t g = 0; g < z.groups; ++g)
        f(ConvBlock{g, row, rows});
      row += rows;
    }
  }

  /// Weights of a group, og x K, in the patch's order (see permute).
  Operand<T> weights(const T* w, std::int64_t group) const {
    return {w + group * og * patch, {MatrixOrder::row_major, patch}};
  }

  Operand<T> gather(const ConvBlock& b, const T* x, T* col) const {
    if (pointwise) return layout.x_operand(x, b);
    layout.gather(b, x, col);
    return layout.patches(col, b);
  }

  void add_bias_rows(const ConvBlock& b, const T* bias, T* y) const {
    const std::int64_t pixels = b.pixels(z);
    bias += b.group * og;
    for (std::int64_t i = 0; i < (kChannelsLast ? pixels : og); ++i) {
      if (kChannelsLast)
        std::copy_n(bias, og, y + i * z.o);
      else
        std::fill_n(y + i * z.oh * z.ow, pixels, bias[i]);
    }
  }

  void forward(const T* x, const T* w, const T* bias, T* y, T* workspace) const {
    const std::int64_t tiles = std::min(z.rows(), tile_count(s, z.rows(), 1));
    const T beta = bias == nullptr ? T(0) : T(1);
    for_each_tile(s, tiles, [&](std::int64_t t) {
      for_blocks(z.rows() * t / tiles, z.rows() * (t + 1) / tiles, [&](const ConvBlock& b) {
        const Operand<T> a = gather(b, x, workspace + t * block_elements());
        T* const out = layout.y_at(y, b);
        if (bias != nullptr) add_bias_rows(b, bias, out);
        const Operand<T> wg = weights(w, b.group);
        if (kChannelsLast)
          gemm_serial<T>({b.pixels(z), og, patch}, a, transposed(wg), beta, out, z.o);
        else
          gemm_serial<T>({og, b.pixels(z), patch}, wg, transposed(a), beta, out, z.oh * z.ow);
      });
    });
  }

  /// dpatches = dy @ w of one block, into `out`.
  void patch_grad(const ConvBlock& b, const T* dy, const T* w, T* out, std::int64_t ldc) const {
    const Operand<T> dyb = layout.y_operand(dy, b), wg = weights(w, b.group);
    if (kChannelsLast)
      gemm_serial<T>({b.pixels(z), patch, og}, dyb, wg, T(0), out, ldc);
    else
      gemm_serial<T>({patch, b.pixels(z), og}, transposed(wg), transposed(dyb), T(0), out, ldc);
  }

  void input_grad(const T* dy, const T* w, T* dx, T* workspace) const {
    const std::int64_t image = z.c * z.h * z.w;
    const std::int64_t tiles =
        tile_count(s, z.n, 1);  // whole images: patches of neighbouring rows overlap
    for_each_tile(s, tiles, [&](std::int64_t t) {
      const std::int64_t begin = z.n * t / tiles, end = z.n * (t + 1) / tiles;
      T* const col = workspace + t * block_elements();
      if (!pointwise) std::fill(dx + begin * image, dx + end * image, T(0));
      for_blocks(begin * z.oh, end * z.oh, [&](const ConvBlock& b) {
        if (pointwise)
          return patch_grad(b, dy, w, layout.x_at(dx, b), kChannelsLast ? z.c : z.h * z.w);
        patch_grad(b, dy, w, col, kChannelsLast ? patch : b.pixels(z));
        layout.scatter(b, col, dx);
      });
    });
  }

  void add_bias_grad(const ConvBlock& b, const T* dy, T* dbias) const {
    const Operand<T> dyb = layout.y_operand(dy, b);
    dbias += b.group * og;
    for (std::int64_t p = 0; kChannelsLast && p < b.pixels(z); ++p) {
      for (std::int64_t o = 0; o < og; ++o)
        dbias[o] += dyb.data[p * z.o + o];
    }
    for (std::int64_t o = 0; !kChannelsLast && o < og; ++o) {
      const T* line = dyb.data + o * dyb.layout.ld;
      dbias[o] = std::accumulate(line, line + b.pixels(z), dbias[o]);
    }
  }

  /// Sums of tile `t` stand at workspace + t * part: o * patch of weights, o of bias, then its
  /// patches.
  void weight_grad(const T* dy,
                   const T* x,
                   T* workspace,
                   std::int64_t part,
                   std::int64_t tiles,
                   bool biased) const {
    for_each_tile(s, tiles, [&](std::int64_t t) {
      T* const dw = workspace + t * part;
      T* const dbias = dw + z.o * patch;
      std::fill(dw, dbias + z.o, T(0));
      for_blocks(z.rows() * t / tiles, z.rows() * (t + 1) / tiles, [&](const ConvBlock& b) {
        const Operand<T> col = gather(b, x, dbias + z.o);
        gemm_serial<T>({og, patch, b.pixels(z)},
                       transposed(layout.y_operand(dy, b)),
                       col,
                       T(1),
                       dw + b.group * og * patch,
                       patch);
        if (biased) add_bias_grad(b, dy, dbias);
      });
    });
  }
};

bool is_channels_last(const View& x) {
  return is_contiguous({x.shape[0], x.shape[2], x.shape[3], x.shape[1]},
                       {x.strides[0], x.strides[2], x.strides[3], x.strides[1]});
}

bool is_row_major(const View& x, const View& y) {
  return x.contiguous() && y.contiguous();
}

/// Calls f(kernel) with the native kernel of x's and y's layout.
template <class T, class F>
void with_layout(const HostStream& s, const ConvSize& z, const View& x, const View& y, F f) {
  if (is_row_major(x, y))
    f(Native<T, ChannelsFirst>{s, z});
  else
    f(Native<T, ChannelsLast>{s, z});
}

template <class T>
void native_forward(const HostStream& s,
                    const ConvSize& z,
                    const View& x,
                    const View& w,
                    const View& bias,
                    const View& y) {
  if (!is_row_major(x, y) && is_direct<T>(z)) return direct_forward<T>(s, z, x, w, bias, y);
  with_layout<T>(s, z, x, y, [&](const auto& native) {
    const std::int64_t weights = native.kChannelsLast ? w.numel() : 0;
    const Workspace<T> workspace(s.device, weights + s.threads * native.block_elements());
    if (!s.computes) return;
    if (native.kChannelsLast) copy(s, w, patch_order(z, workspace.data(), w.dtype));
    native.forward(x.as<T>(),
                   native.kChannelsLast ? workspace.data() : w.as<T>(),
                   bias.as<T>(),
                   y.as<T>(),
                   workspace.data() + weights);
  });
}

template <class T>
void native_input_grad(
    const HostStream& s, const ConvSize& z, const View& dy, const View& w, const View& dx) {
  if (!is_row_major(dx, dy) && is_direct<T>(z)) return direct_input_grad<T>(s, z, dy, w, dx);
  with_layout<T>(s, z, dx, dy, [&](const auto& native) {
    const std::int64_t weights = native.kChannelsLast ? w.numel() : 0;
    const Workspace<T> workspace(s.device, weights + s.threads * native.block_elements());
    if (!s.computes) return;
    if (native.kChannelsLast) copy(s, w, patch_order(z, workspace.data(), w.dtype));
    native.input_grad(dy.as<T>(),
                      native.kChannelsLast ? workspace.data() : w.as<T>(),
                      dx.as<T>(),
                      workspace.data() + weights);
  });
}

template <class T>
void native_weight_grad(const HostStream& s,
                        const ConvSize& z,
                        const View& dy,
                        const View& x,
                        const View& dw,
                        const View& dbias) {
  with_layout<T>(s, z, x, dy, [&](const auto& native) {
    const std::int64_t sums = dw.numel() + z.o, part = sums + native.block_elements();
    const std::int64_t tiles =
        std::max<std::int64_t>(1, std::min(z.rows(), tile_count(s, z.rows(), 1)));
    const Workspace<T> workspace(s.device, tiles * part);
    if (!s.computes) return;
    T* const total = workspace.data();
    native.weight_grad(dy.as<T>(), x.as<T>(), total, part, tiles, dbias.data != nullptr);
    for (std::int64_t t = 1; t < tiles; ++t) {  // in tile order: the same bits every time
      for (std::int64_t i = 0; i < sums; ++i)
        total[i] += total[t * part + i];
    }
    copy(s,
         native.kChannelsLast ? patch_order(z, total, dw.dtype)
                              : View{total, dw.dtype, dw.shape, dw.strides},
         dw);
    if (dbias.data != nullptr) std::copy_n(total + dw.numel(), z.o, dbias.as<T>());
  });
}

bool wants_onednn(const HostStream& s, const ConvSize& z, const View& x, const View& y) {
  return s.path == KernelPath::fastest && (x.dtype == DType::f32 || x.dtype == DType::bf16) &&
         z.n > 0 && is_channels_last(x) && is_channels_last(y);
}

/// What oneDNN gets of `s`: where its threads share little work, starting them costs more than it
/// saves, and far more where the cores have other work too.
HostStream threads_of(const HostStream& s, const ConvSize& z) {
  return threads_for(s, z.multiply_adds(), kProductGrain);
}

/// Whether the weights' gradient needs no library.
bool takes_weight_grad(const ConvSize& z, const View& dy, const View& x) {
  if (!is_channels_last(x) || !is_channels_last(dy)) return false;
  return x.dtype == DType::f32 ? has_weight_grad<float>(z)
                               : x.dtype == DType::f64 && has_weight_grad<double>(z);
}

}  // namespace

void conv2d(const HostStream& s,
            const ConvSize& z,
            const View& x,
            const View& weight,
            const View& bias,
            const View& y) {
  if (y.numel() == 0) return;
  if constexpr (has_onednn) {
    if (wants_onednn(s, z, x, y) && onednn::conv2d(threads_of(s, z), z, x, weight, bias, y)) return;
  }
  if (is_float16(y.dtype)) return widened_conv2d(s, z, x, weight, bias, y);
  with_float(y.dtype, [&]<class T>() { native_forward<T>(s, z, x, weight, bias, y); });
}

void conv2d_input_grad(
    const HostStream& s, const ConvSize& z, const View& dy, const View& weight, const View& dx) {
  if (dx.numel() == 0) return;
  if constexpr (has_onednn) {
    if (wants_onednn(s, z, dx, dy) &&
        onednn::conv2d_input_grad(threads_of(s, z), z, dy, weight, dx))
      return;
  }
  if (is_float16(dx.dtype)) return widened_conv2d_input_grad(s, z, dy, weight, dx);
  with_float(dx.dtype, [&]<class T>() { native_input_grad<T>(s, z, dy, weight, dx); });
}

void conv2d_weight_grad(const HostStream& s,
                        const ConvSize& z,
                        const View& dy,
                        const View& x,
                        const View& dweight,
                        const View& dbias) {
  if (takes_weight_grad(z, dy, x)) {
    return with_float(dweight.dtype, [&]<class T>() {
      weight_grad<T>(threads_of(s, z), z, dy, x, dweight, dbias);
    });
  }
  if constexpr (has_onednn) {
    // In bf16 oneDNN 2.6's threads wait for each other, spinning, at every block: seconds instead
    // of milliseconds where the cores have other work too.
    if (x.dtype != DType::bf16 && wants_onednn(s, z, x, dy) &&
        onednn::conv2d_weight_grad(threads_of(s, z), z, dy, x, dweight, dbias))
      return;
  }
  if (is_float16(dweight.dtype)) return widened_conv2d_weight_grad(s, z, dy, x, dweight, dbias);
  with_float(dweight.dtype, [&]<class T>() { native_weight_grad<T>(s, z, dy, x, dweight, dbias); });
}

}  // namespace tandem::kernels
