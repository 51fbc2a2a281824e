// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <memory>

#include "kernels/onednn/fast_path.hpp"
#include "kernels/onednn/session.hpp"

namespace tandem::kernels::onednn {
namespace {

using Desc = dnnl::memory::desc;
using Dims = dnnl::memory::dims;
using Tag = dnnl::memory::format_tag;
using Type = dnnl::memory::data_type;
constexpr auto kDirect = dnnl::algorithm::convolution_direct;

/// The descriptions that the three primitives of a convolution share.
struct Descs {
  Desc x, y, bias;
  Desc weight;      // as the caller has it
  Desc any_weight;  // oneDNN chooses
  Dims stride, dilation, before, after;

  Descs(const ConvSize& size, Type type)
      : x({size.n, size.c, size.h, size.w}, type, Tag::nhwc),
        y({size.n, size.o, size.oh, size.ow}, type, Tag::nhwc),
        bias({size.o}, type, Tag::x),
        stride{size.stride[0], size.stride[1]},
        dilation{size.dilation[0] - 1, size.dilation[1] - 1},  // oneDNN counts the gaps
        before{size.padding[0], size.padding[1]},
        after{behind(size, 0), behind(size, 1)} {
    const std::int64_t g = size.groups;
    const Dims dims = g == 1 ? Dims{size.o, size.c, size.kh, size.kw}
                             : Dims{g, size.o / g, size.c / g, size.kh, size.kw};
    weight = Desc(dims, type, g == 1 ? Tag::oihw : Tag::goihw);
    any_weight = Desc(dims, type, Tag::any);
  }

 private:
  /// The padding behind, such that the windows end at the last output (negative: rows left over).
  static std::int64_t behind(const ConvSize& size, int axis) {
    const std::int64_t in = axis == 0 ? size.h : size.w, out = axis == 0 ? size.oh : size.ow;
    const std::int64_t kernel = axis == 0 ? size.kh : size.kw;
    const auto a = static_cast<std::size_t>(axis);
    return (out - 1) * size.stride[a] + (kernel - 1) * size.dilation[a] + 1 - in - size.padding[a];
  }
};

enum class Pass : std::uint8_t { forward = 1, input_grad, weight_grad };

Key key_of(const HostStream& s, Pass pass, const ConvSize& z, Type type, bool biased) {
  Key key;
  key.add({static_cast<std::int64_t>(pass),
           s.threads,
           static_cast<std::int64_t>(type),
           biased,
           z.n,
           z.c,
           z.h,
           z.w,
           z.o,
           z.kh,
           z.kw,
           z.oh,
           z.ow,
           z.groups,
           z.stride[0],
           z.stride[1],
           z.padding[0],
           z.padding[1],
           z.dilation[0],
           z.dilation[1]});
  return key;
}

/// make(...) of the descriptions in the order of oneDNN's operations, with the bias where there is
/// one.
template <class Make>
auto with_bias_if(bool biased, const Descs& d, Make make) {
  return biased ? make(d.x, d.any_weight, d.bias, d.y, d.stride, d.dilation, d.before, d.after)
                : make(d.x, d.any_weight, d.y, d.stride, d.dilation, d.before, d.after);
}

auto forward_desc(const Descs& d, bool biased, const dnnl::engine& engine) {
  const auto desc = with_bias_if(biased, d, [](const auto&... parts) {
    return dnnl::convolution_forward::desc(dnnl::prop_kind::forward_training, kDirect, parts...);
  });
  return dnnl::convolution_forward::primitive_desc(desc, user_scratchpad(), engine);
}

/// oneDNN 2.6 copies the pixels that a pointwise convolution with a stride sees, a vector of
/// channels at a time: for the weights' gradient on several threads it writes past its scratchpad
/// where there are fewer channels.
bool overruns_scratchpad(const ConvSize& z) {
  constexpr std::int64_t kVector = 16;
  return z.kh == 1 && z.kw == 1 && z.stride != Pair{1, 1} && z.c / z.groups < kVector;
}

}  // namespace

bool conv2d(const HostStream& s,
            const ConvSize& size,
            const View& x,
            const View& weight,
            const View& bias,
            const View& y) {
  const bool biased = bias.data != nullptr;
  Session session(s);
  Prepared* primitive = session.find(
      key_of(s, Pass::forward, size, type_of(x), biased), [&](const dnnl::engine& engine) {
        const Descs d(size, type_of(x));
        const auto desc = forward_desc(d, biased, engine);
        if (!is_usable(desc.impl_info_str())) return std::unique_ptr<Prepared>();
        std::vector<Argument> arguments{{DNNL_ARG_SRC, d.x, d.x},
                                        {DNNL_ARG_WEIGHTS, d.weight, desc.weights_desc()},
                                        {DNNL_ARG_DST, d.y, d.y, true}};
        if (biased) arguments.push_back({DNNL_ARG_BIAS, d.bias, d.bias});
        return std::make_unique<Prepared>(
            engine, dnnl::convolution_forward(desc), desc.scratchpad_desc(), arguments);
      });
  if (primitive == nullptr) return false;
  if (biased)
    session.run(*primitive, {x.data, weight.data, y.data, bias.data});
  else
    session.run(*primitive, {x.data, weight.data, y.data});
  return true;
}

bool conv2d_input_grad(
    const HostStream& s, const ConvSize& size, const View& dy, const View& weight, const View& dx) {
  Session session(s);
  Prepared* primitive = session.find(
      key_of(s, Pass::input_grad, size, type_of(dx), false), [&](const dnnl::engine& engine) {
        const Descs d(size, type_of(dx));
        using Backward = dnnl::convolution_backward_data;
        const Backward::primitive_desc desc(
            Backward::desc(
                kDirect, d.x, d.any_weight, d.y, d.stride, d.dilation, d.before, d.after),
            user_scratchpad(),
            engine,
            forward_desc(d, false, engine));
        if (!is_usable(desc.impl_info_str())) return std::unique_ptr<Prepared>();
        const std::vector<Argument> arguments{{DNNL_ARG_DIFF_DST, d.y, d.y},
                                              {DNNL_ARG_WEIGHTS, d.weight, desc.weights_desc()},
                                              {DNNL_ARG_DIFF_SRC, d.x, d.x, true}};
        return std::make_unique<Prepared>(
            engine, Backward(desc), desc.scratchpad_desc(), arguments);
      });
  if (primitive == nullptr) return false;
  session.run(*primitive, {dy.data, weight.data, dx.data});
  return true;
}

bool conv2d_weight_grad(const HostStream& s,
                        const ConvSize& size,
                        const View& dy,
                        const View& x,
                        const View& dweight,
                        const View& dbias) {
  if (overruns_scratchpad(size)) return false;
  const bool biased = dbias.data != nullptr;
  Session session(s);
  Prepared* primitive = session.find(
      key_of(s, Pass::weight_grad, size, type_of(x), biased), [&](const dnnl::engine& engine) {
        const Descs d(size, type_of(x));
        using Backward = dnnl::convolution_backward_weights;
        const auto wish = with_bias_if(
            biased, d, [](const auto&... parts) { return Backward::desc(kDirect, parts...); });
        const Backward::primitive_desc desc(
            wish, user_scratchpad(), engine, forward_desc(d, biased, engine));
        if (!is_usable(desc.impl_info_str())) return std::unique_ptr<Prepared>();
        std::vector<Argument> arguments{
            {DNNL_ARG_SRC, d.x, d.x},
            {DNNL_ARG_DIFF_DST, d.y, d.y},
            {DNNL_ARG_DIFF_WEIGHTS, d.weight, desc.diff_weights_desc(), true}};
        if (biased) arguments.push_back({DNNL_ARG_DIFF_BIAS, d.bias, d.bias, true});
        return std::make_unique<Prepared>(
            engine, Backward(desc), desc.scratchpad_desc(), arguments);
      });
  if (primitive == nullptr) return false;
  if (biased)
    session.run(*primitive, {x.data, dy.data, dweight.data, dbias.data});
  else
    session.run(*primitive, {x.data, dy.data, dweight.data});
  return true;
}

}  // namespace tandem::kernels::onednn
