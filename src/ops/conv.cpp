// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/ops/conv.hpp"

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/check.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/access.hpp"
#include "tandem/tensor/factories.hpp"

#include "core/checked_size.hpp"
#include "kernels/conv.hpp"
#include "kernels/onednn/fast_path.hpp"
#include "ops/autocast.hpp"
#include "ops/conv.hpp"
#include "ops/memory_format.hpp"
#include "tensor/view_of.hpp"

namespace tandem {
namespace {

using autograd::Gradients;
using autograd::Saved;
using kernels::ConvSize;

/// Output rows (axis 0) or columns (1), checked.
std::int64_t out_size(
    const char* op, const Shape& x, const Shape& weight, const Conv2dOptions& options, int axis) {
  const auto a = static_cast<std::size_t>(axis);
  const std::int64_t stride = options.stride[a], padding = options.padding[a],
                     dilation = options.dilation[a];
  TANDEM_CHECK(stride >= 1 && padding >= 0 && dilation >= 1,
               op,
               ": needs stride >= 1, padding >= 0 and dilation >= 1, got ",
               stride,
               ", ",
               padding,
               ", ",
               dilation);
  const std::int64_t kernel = weight[2 + axis],
                     reach = (CheckedSize(op, dilation) * (kernel - 1) + 1).value(),
                     padded = (CheckedSize(op, padding) * 2 + x[2 + axis]).value();
  TANDEM_CHECK(kernel >= 1 && reach <= padded,
               op,
               ": the kernel of weight ",
               weight,
               " spans ",
               reach,
               axis == 0 ? " rows" : " columns",
               ", but x ",
               x,
               " has only ",
               padded,
               " with its padding; pad more, or use a smaller kernel");
  return (padded - reach) / stride + 1;
}

/// All sizes, checked. @param op  named in errors.
ConvSize conv_size(const char* op,
                   const Shape& x,
                   const Shape& weight,
                   const Conv2dOptions& options) {
  TANDEM_CHECK(x.size() == 4 && weight.size() == 4,
               op,
               ": needs x (N, C, H, W) and weight (O, C / groups, kH, kW), got ",
               x,
               " and ",
               weight);
  const std::int64_t groups = options.groups;
  TANDEM_CHECK(
      groups >= 1 && x[1] > 0 && weight[0] > 0 && x[1] % groups == 0 && weight[0] % groups == 0,
      op,
      ": the channels of x ",
      x,
      " and weight ",
      weight,
      " must be multiples of groups ",
      groups);
  TANDEM_CHECK(weight[1] == x[1] / groups,
               op,
               ": x ",
               x,
               " has ",
               x[1] / groups,
               " channels per group, but weight ",
               weight,
               " needs ",
               weight[1]);
  ConvSize z;
  z.n = x[0], z.c = x[1], z.h = x[2], z.w = x[3];
  z.o = weight[0], z.kh = weight[2], z.kw = weight[3];
  z.oh = out_size(op, x, weight, options, 0);
  z.ow = out_size(op, x, weight, options, 1);
  z.stride = options.stride, z.padding = options.padding, z.dilation = options.dilation,
  z.groups = groups;
  return z;
}

void check_dtypes(const char* op, const Tensor& a, const Tensor& b) {
  TANDEM_CHECK(is_float(a.dtype()) && a.dtype() == b.dtype(),
               op,
               ": needs float tensors of one dtype, got ",
               a.describe(),
               " and ",
               b.describe());
}

void check_gradient(const char* op, const Tensor& dy, const ConvSize& z) {
  const Shape wanted{z.n, z.o, z.oh, z.ow};
  TANDEM_CHECK(dy.shape() == wanted,
               op,
               ": dy has shape ",
               dy.shape(),
               ", but the convolution's output has ",
               wanted);
}

/// The format that the kernels work in: the library's where one runs, else the tensor's own. A GPU
/// has its own library, so that its format does not depend on the host's.
MemoryFormat kernel_format(const Tensor& x) {
  const bool has_library = kernels::onednn::is_linked() || acts_as_gpu(x.device());
  const bool library =
      has_library && context().path == KernelPath::fastest && x.dtype() != DType::f64;
  return library ? MemoryFormat::channels_last : format_of(x);
}

Tensor dense(const Tensor& x, MemoryFormat format) {
  return x.detach().contiguous(format);
}

Tensor new_like(const Tensor& x,
                const Shape& shape,
                MemoryFormat format = MemoryFormat::contiguous) {
  return empty(shape, {.dtype = x.dtype(), .device = x.device(), .format = format});
}

Work conv_work(const char* op,
               const ConvSize& z,
               std::initializer_list<Tensor> in,
               std::initializer_list<Tensor> out) {
  return with_workspace(make_work(Work::Kind::conv,
                                  op,
                                  in,
                                  out,
                                  z.flops(),
                                  {z.groups * z.rows() * z.ow, z.o / z.groups, z.patch()}));
}

kernels::View optional_view(const Tensor& x) {
  return x.defined() ? view_of(x) : kernels::View{};
}

// ---- off the tape ----

Tensor forward(const ConvSize& z, const Tensor& x_, const Tensor& weight, const Tensor& bias) {
  const MemoryFormat format = kernel_format(x_);
  const Tensor x = dense(x_, format), w = dense(weight, MemoryFormat::contiguous);
  const Tensor b = bias.defined() ? dense(bias, MemoryFormat::contiguous) : bias;
  const Tensor y = new_like(x, {z.n, z.o, z.oh, z.ow}, format);
  dispatch(x.stream(), conv_work("conv2d", z, {x, w, b}, {y}), [&](auto& s) {
    kernels::conv2d(s, z, view_of(x), view_of(w), optional_view(b), view_of(y));
  });
  return y.contiguous(format_of(x_));
}

Tensor input_grad(const ConvSize& z, const Tensor& dy_, const Tensor& weight, MemoryFormat wanted) {
  const MemoryFormat format = kernel_format(dy_);
  const Tensor dy = dense(dy_, format), w = dense(weight, MemoryFormat::contiguous);
  const Tensor dx = new_like(dy, {z.n, z.c, z.h, z.w}, format);
  dispatch(dy.stream(), conv_work("conv2d_input_grad", z, {dy, w}, {dx}), [&](auto& s) {
    kernels::conv2d_input_grad(s, z, view_of(dy), view_of(w), view_of(dx));
  });
  return dx.contiguous(wanted);
}

/// The gradient of weight. That of bias is written to `dbias`, if it is defined.
Tensor weight_grad(const ConvSize& z, const Tensor& dy_, const Tensor& x_, const Tensor& dbias) {
  const MemoryFormat format = kernel_format(x_);
  const Tensor dy = dense(dy_, format), x = dense(x_, format);
  const Tensor dweight = new_like(x, {z.o, z.c / z.groups, z.kh, z.kw});
  dispatch(x.stream(), conv_work("conv2d_weight_grad", z, {dy, x}, {dweight, dbias}), [&](auto& s) {
    kernels::conv2d_weight_grad(
        s, z, view_of(dy), view_of(x), view_of(dweight), optional_view(dbias));
  });
  return dweight;
}

/// What conv2d keeps for backward.
struct ConvSaved {
  Saved x, weight;
  Tensor bias;  // only asked whether it wants a gradient
  ConvSize size;
  Conv2dOptions options;

  bool wants_bias() const { return autograd::wants(bias); }

  Gradients formula(const Tensor& dy) const {
    const Tensor &in = x.get(), &w = weight.get();
    return {autograd::wants(in) ? conv2d_input_grad(dy, w, in.shape(), options) : Tensor(),
            autograd::wants(w) ? conv2d_weight_grad(dy, in, w.shape(), options) : Tensor(),
            wants_bias() ? sum(dy, {0, 2, 3}) : Tensor()};
  }

  /// Weight and bias in one kernel.
  Gradients fused(const Tensor& dy) const {
    const Tensor &in = x.get(), &w = weight.get();
    if (!autograd::wants(w)) return formula(dy);
    const Tensor dbias = wants_bias() ? new_like(dy, {size.o}) : Tensor();
    Tensor dx = autograd::wants(in) ? input_grad(size, dy, w, format_of(in)) : Tensor();
    return {std::move(dx), weight_grad(size, dy, in, dbias), dbias};
  }
};

}  // namespace

void check_conv_bias(const char* op,
                     const Tensor& bias,
                     const Tensor& weight,
                     std::int64_t channels) {
  if (!bias.defined()) return;
  TANDEM_CHECK(bias.shape() == Shape{channels} && bias.dtype() == weight.dtype(),
               op,
               ": bias ",
               bias.describe(),
               " does not fit weight ",
               weight.describe(),
               "; expected (",
               channels,
               ") of the same type");
}

Tensor conv2d(const Tensor& input,
              const Tensor& weights,
              const Tensor& biases,
              Conv2dOptions options) {
  const Tensor x = as_factor(input), weight = as_factor(weights), bias = as_factor(biases);
  check_dtypes("conv2d", x, weight);
  const ConvSize size = conv_size("conv2d", x.shape(), weight.shape(), options);
  if (bias.defined()) {
    check_dtypes("conv2d", x, bias);
    TANDEM_CHECK(bias.shape() == Shape{size.o},
                 "conv2d: bias ",
                 bias.shape(),
                 " does not fit weight ",
                 weight.shape(),
                 "; expected (",
                 size.o,
                 ")");
  }
  const auto kept =
      std::make_shared<const ConvSaved>(ConvSaved{Saved(x), Saved(weight), bias, size, options});
  return autograd::record("conv2d",
                          forward(size, x, weight, bias),
                          {x, weight, bias},
                          autograd::Formula([kept](const Tensor& dy) { return kept->formula(dy); }),
                          autograd::Formula([kept](const Tensor& dy) { return kept->fused(dy); }));
}

Tensor conv2d_input_grad(const Tensor& dy,
                         const Tensor& weight,
                         const Shape& x_shape,
                         Conv2dOptions options) {
  check_dtypes("conv2d_input_grad", dy, weight);
  const ConvSize size = conv_size("conv2d_input_grad", x_shape, weight.shape(), options);
  check_gradient("conv2d_input_grad", dy, size);
  return autograd::record(
      "conv2d_input_grad",
      input_grad(size, dy, weight, format_of(dy)),
      {dy, weight},
      [dy = Saved(dy), weight = Saved(weight), options](const Tensor& g) {
        const Tensor &d = dy.get(), &w = weight.get();
        return Gradients{
            autograd::wants(d) ? conv2d(g, w, {}, options) : Tensor(),
            autograd::wants(w) ? conv2d_weight_grad(d, g, w.shape(), options) : Tensor()};
      });
}

Tensor conv2d_weight_grad(const Tensor& dy,
                          const Tensor& x,
                          const Shape& weight_shape,
                          Conv2dOptions options) {
  check_dtypes("conv2d_weight_grad", dy, x);
  const ConvSize size = conv_size("conv2d_weight_grad", x.shape(), weight_shape, options);
  check_gradient("conv2d_weight_grad", dy, size);
  return autograd::record(
      "conv2d_weight_grad",
      weight_grad(size, dy, x, {}),
      {dy, x},
      [dy = Saved(dy), x = Saved(x), options](const Tensor& g) {
        const Tensor &d = dy.get(), &in = x.get();
        return Gradients{
            autograd::wants(d) ? conv2d(in, g, {}, options) : Tensor(),
            autograd::wants(in) ? conv2d_input_grad(d, g, in.shape(), options) : Tensor()};
      });
}

}  // namespace tandem
