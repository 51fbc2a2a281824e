// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "tandem/config.hpp"

#include "kernels/conv.hpp"
#include "kernels/copy.hpp"
#include "kernels/cuda/gemm.hpp"
#include "kernels/cuda/map.hpp"
#include "kernels/cudnn/fast_path.hpp"
#include "kernels/divisor.hpp"
#include "kernels/element.hpp"
#include "kernels/fill.hpp"
#include "kernels/widened_conv.hpp"
#include "kernels/workspace.hpp"

// Convolution by cuDNN where it is there, else as GEMM over patches, a block of images at a time.
// Patches are (pixel, element), an element (kh, kw, channel of the group) in any layout: weights
// are brought into that order first.
namespace tandem::kernels {
namespace {

constexpr std::int64_t kPatchBytes = std::int64_t{256} << 20;  ///< of a block, at most

/// Where an image's elements lie.
struct ImageStrides {
  std::int64_t n, c, h, w;
  explicit ImageStrides(const View& x)
      : n(x.strides[0]), c(x.strides[1]), h(x.strides[2]), w(x.strides[3]) {}
};

/// Sizes as a kernel sees them; cg: channels of a group.
struct Geometry {
  Divisor h, w, kh, kw, oh, ow, cg;
  Divisor stride[2];
  std::int64_t padding[2], dilation[2];

  explicit Geometry(const ConvSize& z)
      : h(z.h),
        w(z.w),
        kh(z.kh),
        kw(z.kw),
        oh(z.oh),
        ow(z.ow),
        cg(z.c / z.groups),
        stride{Divisor(z.stride[0]), Divisor(z.stride[1])},
        padding{z.padding[0], z.padding[1]},
        dilation{z.dilation[0], z.dilation[1]} {}
};

/// One element of the patches of images [first, ...) and channels of one group.
template <class T>
struct TakePatch {
  Geometry g;
  ImageStrides at;
  const T* x;  // of the first image and channel
  T* patches;

  TANDEM_HD void operator()(std::int64_t i) const {
    const auto [filter, c] = g.cg.split(i);
    const auto [filter_row, kx] = g.kw.split(filter);
    const auto [pixel, ky] = g.kh.split(filter_row);
    const auto [row, ox] = g.ow.split(pixel);
    const auto [n, oy] = g.oh.split(row);
    const std::int64_t iy = oy * g.stride[0].value() - g.padding[0] + ky * g.dilation[0];
    const std::int64_t ix = ox * g.stride[1].value() - g.padding[1] + kx * g.dilation[1];
    const bool inside = iy >= 0 && iy < g.h.value() && ix >= 0 && ix < g.w.value();
    patches[i] = inside ? x[n * at.n + c * at.c + iy * at.h + ix * at.w] : T(0);
  }
};

/// One element of dx: what the patches that it is in have for it, in the order of the filter.
template <class T>
struct SumPatches {
  Geometry g;
  ImageStrides at;
  const T* patches;
  T* dx;

  TANDEM_HD void operator()(std::int64_t i) const {
    const auto [position, c] = g.cg.split(i);
    const auto [row, ix] = g.w.split(position);
    const auto [n, iy] = g.h.split(row);
    const std::int64_t kh = g.kh.value(), kw = g.kw.value();
    T sum = T(0);
    for (std::int64_t ky = 0; ky < kh; ++ky) {
      const std::int64_t oy =
          output(iy + g.padding[0] - ky * g.dilation[0], g.stride[0], g.oh.value());
      for (std::int64_t kx = 0; oy >= 0 && kx < kw; ++kx) {
        const std::int64_t ox =
            output(ix + g.padding[1] - kx * g.dilation[1], g.stride[1], g.ow.value());
        if (ox < 0) continue;
        const std::int64_t pixel = (n * g.oh.value() + oy) * g.ow.value() + ox;
        sum += patches[((pixel * kh + ky) * kw + kx) * g.cg.value() + c];
      }
    }
    dx[n * at.n + c * at.c + iy * at.h + ix * at.w] = sum;
  }

 private:
  /// The output position whose patch begins at `first`; -1: none.
  TANDEM_HD static std::int64_t output(std::int64_t first,
                                       const Divisor& stride,
                                       std::int64_t size) {
    if (first < 0) return -1;
    const auto [at, rest] = stride.split(first);
    return rest == 0 && at < size ? at : -1;
  }
};

/// dbias of one channel: the sum of dy over images and pixels.
template <class T>
struct SumChannel {
  using Total = double;
  ImageStrides step;
  Divisor oh, ow;
  const T* dy;
  T* dbias;

  struct Run {
    const SumChannel& of;
    const T* dy;  // of the channel
    compute_t<T> sum;
    TANDEM_HD T load(std::int64_t i) const {
      const auto [row, x] = of.ow.split(i);
      const auto [n, y] = of.oh.split(row);
      return dy[n * of.step.n + y * of.step.h + x * of.step.w];
    }
    template <int kCount>
    TANDEM_HD void add(const T (&values)[kCount]) {
      for (const T& value : values)
        sum += kernels::load(value);
    }
    TANDEM_HD Total total() const { return static_cast<Total>(sum); }
  };
  TANDEM_HD Run run(std::int64_t o) const { return {*this, dy + o * step.c, compute_t<T>(0)}; }
  TANDEM_HD Total join(Total a, Total b) const { return a + b; }
  TANDEM_HD void store(std::int64_t o, Total sum) const {
    dbias[o] = tandem::kernels::store<T>(static_cast<compute_t<T>>(sum));
  }
};

/// A call's blocks, and the memory that they share.
template <class T>
class Blocks {
 public:
  Blocks(const CudaStream& s, const ConvSize& z)
      : s_(s),
        z_(z),
        image_(z.oh * z.ow * z.patch()),
        images_(std::clamp<std::int64_t>(
            kPatchBytes / std::max<std::int64_t>(1, image_ * std::int64_t{sizeof(T)}),
            1,
            std::max<std::int64_t>(1, z.n))),
        patches_(s.device, images_ * image_) {}

  T* patches() const { return patches_.data(); }
  std::int64_t og() const { return z_.o / z_.groups; }

  /// Calls f(group, first image, images).
  template <class F>
  void for_each_block(F f) const {
    for (std::int64_t n = 0; n < z_.n; n += images_) {
      for (std::int64_t g = 0; g < z_.groups; ++g)
        f(g, n, std::min(images_, z_.n - n));
    }
  }
  void take(const View& x, std::int64_t group, std::int64_t first, std::int64_t images) const {
    const ImageStrides at(x);
    const Geometry g(z_);
    for_each(s_,
             images * image_,
             TakePatch<T>{
                 g, at, x.as<const T>() + first * at.n + group * g.cg.value() * at.c, patches()});
  }
  void sum(const View& dx, std::int64_t group, std::int64_t first, std::int64_t images) const {
    const ImageStrides at(dx);
    const Geometry g(z_);
    for_each(
        s_,
        images * z_.h * z_.w * g.cg.value(),
        SumPatches<T>{g, at, patches(), dx.as<T>() + first * at.n + group * g.cg.value() * at.c});
  }

 private:
  const CudaStream& s_;
  const ConvSize& z_;
  std::int64_t image_;   // elements of an image's patches
  std::int64_t images_;  // of a block
  Workspace<T> patches_;
};

bool is_channels_last(const View& y) {
  return y.strides[1] == 1 || y.shape[1] == 1;
}

template <class T>
Operand<T> rows(const T* data, std::int64_t ld) {
  return {data, {MatrixOrder::row_major, ld}};
}
template <class T>
Operand<T> columns(const T* data, std::int64_t ld) {
  return {data, {MatrixOrder::column_major, ld}};
}

template <class T>
void forward(const CudaStream& s,
             const ConvSize& z,
             const View& x,
             const View& w,
             const View& bias,
             const View& y) {
  const Workspace<T> weights(s.device, z.o * z.patch());  // in the patches' order
  copy(s, w, patch_order(z, weights.data(), w.dtype));
  if (bias.data != nullptr) {
    const View spread{bias.data, bias.dtype, y.shape, {0, bias.strides[0], 0, 0}};
    copy(s, spread, y);
  }
  const T beta = bias.data == nullptr ? T(0) : T(1);
  const Blocks<T> blocks(s, z);
  const std::int64_t og = blocks.og(), k = z.patch(), plane = z.oh * z.ow;
  blocks.for_each_block([&](std::int64_t g, std::int64_t n, std::int64_t images) {
    blocks.take(x, g, n, images);
    const T* const wg = weights.data() + g * og * k;
    T* const out = y.as<T>() + n * z.o * plane;
    if (is_channels_last(y)) {
      return gemm<T>(s,
                     {images * plane, og, k},
                     rows(static_cast<const T*>(blocks.patches()), k),
                     columns(wg, k),
                     beta,
                     out + g * og,
                     z.o);
    }
    gemm<T>(s,
            {og, plane, k},
            rows(wg, k),
            columns(static_cast<const T*>(blocks.patches()), k),
            beta,
            out + g * og * plane,
            plane,
            nullptr,
            {images, 0, plane * k, z.o * plane});
  });
}

/// dy of a block: pixels x channels of the group, of images that lie together.
template <class T>
struct OutputGrad {
  Operand<T> operand;
  GemmBatch batch;  // c: patches
  std::int64_t pixels;

  OutputGrad(const ConvSize& z, const View& dy, std::int64_t g, std::int64_t n, std::int64_t images)
      : pixels(z.oh * z.ow) {
    const std::int64_t og = z.o / z.groups, plane = z.oh * z.ow;
    const T* const first = dy.as<const T>() + n * z.o * plane;
    if (is_channels_last(dy)) {
      pixels *= images;
      operand = rows(first + g * og, z.o);
    } else {
      operand = columns(first + g * og * plane, plane);
      batch = {images, z.o * plane, 0, plane * z.patch()};
    }
  }
};

template <class T>
void input_grad(
    const CudaStream& s, const ConvSize& z, const View& dy, const View& w, const View& dx) {
  const Workspace<T> weights(s.device, z.o * z.patch());  // in the patches' order
  copy(s, w, patch_order(z, weights.data(), w.dtype));
  const Blocks<T> blocks(s, z);
  const std::int64_t og = blocks.og(), k = z.patch();
  blocks.for_each_block([&](std::int64_t g, std::int64_t n, std::int64_t images) {
    const OutputGrad<T> out(z, dy, g, n, images);
    gemm<T>(s,
            {out.pixels, k, og},
            out.operand,
            rows(static_cast<const T*>(weights.data()) + g * og * k, k),
            T(0),
            blocks.patches(),
            k,
            nullptr,
            out.batch);
    blocks.sum(dx, g, n, images);
  });
}

template <class T>
void weight_grad(
    const CudaStream& s, const ConvSize& z, const View& dy, const View& x, const View& dw) {
  const Workspace<T> sums(s.device, z.o * z.patch());  // in the patches' order
  const Blocks<T> blocks(s, z);
  const std::int64_t og = blocks.og(), k = z.patch();
  blocks.for_each_block([&](std::int64_t g, std::int64_t n, std::int64_t images) {
    blocks.take(x, g, n, images);
    const OutputGrad<T> out(z, dy, g, n, images);
    for (std::int64_t i = 0; i < out.batch.count; ++i) {  // one after the other: they add up
      gemm<T>(s,
              {og, k, out.pixels},
              transposed(Operand<T>{out.operand.data + i * out.batch.a, out.operand.layout}),
              rows(static_cast<const T*>(blocks.patches()) + i * out.batch.c, k),
              n + i > 0 ? T(1) : T(0),
              sums.data() + g * og * k,
              k);
    }
  });
  if (z.n * z.oh * z.ow == 0) return fill(s, 0, dw);
  copy(s, patch_order(z, sums.data(), dw.dtype), dw);
}

template <class T>
void bias_grad(const CudaStream& s, const ConvSize& z, const View& dy, const View& dbias) {
  reduce_each(s,
              z.o,
              z.n * z.oh * z.ow,
              is_channels_last(dy) ? Walk::across : Walk::along,
              SumChannel<T>{
                  ImageStrides(dy), Divisor(z.oh), Divisor(z.ow), dy.as<const T>(), dbias.as<T>()});
}

struct Plus {
  template <class T>
  TANDEM_HD T operator()(T a, T b) const {
    return a + b;
  }
};

/// y += bias, by channel.
void add_bias(const CudaStream& s, const View& bias, const View& y) {
  const View spread{bias.data, bias.dtype, y.shape, {0, bias.strides[0], 0, 0}};
  with_any_float(y.dtype, [&]<class T>() { map<T, T, T>(s, Plus{}, y, y, spread); });
}

/// cuDNN is asked first; the sizes leave it something to do.
bool wants_cudnn(const CudaStream& s, const ConvSize& z) {
  return s.path == KernelPath::fastest && z.n > 0;
}

}  // namespace

void conv2d(const CudaStream& s,
            const ConvSize& z,
            const View& x,
            const View& weight,
            const View& bias,
            const View& y) {
  if (y.numel() == 0) return;
  if constexpr (has_cudnn) {
    if (wants_cudnn(s, z) && cudnn::conv2d(s, z, x, weight, y)) {
      if (bias.data != nullptr) add_bias(s, bias, y);
      return;
    }
  }
  if (is_float16(y.dtype)) return widened_conv2d(s, z, x, weight, bias, y);
  with_float(y.dtype, [&]<class T>() { forward<T>(s, z, x, weight, bias, y); });
}

void conv2d_input_grad(
    const CudaStream& s, const ConvSize& z, const View& dy, const View& weight, const View& dx) {
  if (dx.numel() == 0) return;
  if constexpr (has_cudnn) {
    if (wants_cudnn(s, z) && cudnn::conv2d_input_grad(s, z, dy, weight, dx)) return;
  }
  if (is_float16(dx.dtype)) return widened_conv2d_input_grad(s, z, dy, weight, dx);
  with_float(dx.dtype, [&]<class T>() { input_grad<T>(s, z, dy, weight, dx); });
}

void conv2d_weight_grad(const CudaStream& s,
                        const ConvSize& z,
                        const View& dy,
                        const View& x,
                        const View& dweight,
                        const View& dbias) {
  bool done = false;
  if constexpr (has_cudnn)
    done = wants_cudnn(s, z) && cudnn::conv2d_weight_grad(s, z, dy, x, dweight);
  if (!done && is_float16(dweight.dtype))
    return widened_conv2d_weight_grad(s, z, dy, x, dweight, dbias);
  if (!done) with_float(dweight.dtype, [&]<class T>() { weight_grad<T>(s, z, dy, x, dweight); });
  if (dbias.data != nullptr)
    with_any_float(dbias.dtype, [&]<class T>() { bias_grad<T>(s, z, dy, dbias); });
}

}  // namespace tandem::kernels
