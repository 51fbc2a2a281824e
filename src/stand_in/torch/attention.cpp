// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Attention that a GPU does in one kernel, which keeps no matrix of scores: so here the matrix is
// the host's, and the GPU's memory has what its own kernel would have there.

#include <array>
#include <cmath>
#include <limits>
#include <tuple>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/LegacyTypeDispatch.h>

#include "stand_in/torch/boxed_values.hpp"
#include "stand_in/torch/families.hpp"
#include "stand_in/torch/op_call.hpp"

namespace tandem::stand_in {
namespace {

using at::Tensor;
using Scale = std::optional<double>;

/// What an attention is made of, on the host, in f32 or f64.
struct Attention {
  Tensor q, k, v, bias;
  double dropout;
  bool is_causal;
  Scale given_scale;
  std::int64_t seed;  // of what is dropped

  double scale() const {
    return given_scale.value_or(1 / std::sqrt(static_cast<double>(q.size(-1))));
  }
  Tensor scores() const {
    Tensor s = at::matmul(q, k.transpose(-2, -1)) * scale();
    if (bias.defined()) s = s + bias;
    if (!is_causal) return s;
    const Tensor seen = at::ones({q.size(-2), k.size(-2)}, at::kBool).tril();
    return s.masked_fill(seen.logical_not(), -std::numeric_limits<double>::infinity());
  }
  /// 0 for what is dropped, more than 1 for what stays.
  Tensor kept(const Tensor& like) const {
    if (dropout == 0) return at::ones({}, like.options());
    const auto generator =
        at::make_generator<at::CPUGeneratorImpl>(static_cast<std::uint64_t>(seed));
    return at::empty_like(like).bernoulli_(1 - dropout, generator) / (1 - dropout);
  }
};

Tensor wide_values(const Tensor& x) {
  return x.defined() && x.scalar_type() != at::kDouble ? x.to(at::kFloat) : x;
}

/// Rows in which nothing is seen have no weights.
Tensor weights(const Tensor& scores, const Tensor& log_sum) {
  return (scores - log_sum.unsqueeze(-1)).exp().masked_fill(log_sum.isneginf().unsqueeze(-1), 0);
}

/// @return  output and logarithm of the sum of exponents.
std::tuple<Tensor, Tensor> forward(const Attention& a) {
  const Tensor scores = a.scores(), log_sum = scores.logsumexp(-1);
  const Tensor p = weights(scores, log_sum);
  return {at::matmul(p * a.kept(p), a.v), log_sum};
}

/// @return  gradients of q, k, v and the scores.
std::tuple<Tensor, Tensor, Tensor, Tensor> backward(const Attention& a, const Tensor& dy) {
  const Tensor scores = a.scores(), p = weights(scores, scores.logsumexp(-1)), kept = a.kept(p);
  const Tensor dv = at::matmul((p * kept).transpose(-2, -1), dy);
  const Tensor dp = at::matmul(dy, a.v.transpose(-2, -1)) * kept;
  const Tensor ds = p * (dp - (dp * p).sum(-1, true));
  return {
      at::matmul(ds, a.k) * a.scale(), at::matmul(ds.transpose(-2, -1), a.q) * a.scale(), dv, ds};
}

/// The seed of what a call drops; it is the host's, as PyTorch's own is.
Tensor draw_seed(const Tensor& q, double dropout) {
  if (dropout == 0) return at::zeros({}, at::kLong);
  const auto generator = host_generator(c10::IValue(), q.device().index());
  return at::scalar_tensor(static_cast<std::int64_t>(generator.current_seed() >> 1),
                           at::TensorOptions(at::kLong));
}

Attention attention_of(OpCall& call,
                       const Tensor& q,
                       const Tensor& k,
                       const Tensor& v,
                       const Tensor& bias,
                       double dropout,
                       bool is_causal,
                       Scale scale,
                       const Tensor& seed) {
  Attention a{call.to_host(q, false),
              call.to_host(k, false),
              call.to_host(v, false),
              call.to_host(bias, false),
              dropout,
              is_causal,
              scale,
              seed.item<std::int64_t>()};
  call.begin();
  for (Tensor* x : {&a.q, &a.k, &a.v, &a.bias})
    *x = wide_values(*x);
  return a;
}

/// As PyTorch's kernels lay out a result: heads of a position beside each other.
Tensor by_position(const Tensor& y, at::ScalarType type) {
  return y.to(type).transpose(1, 2).contiguous().transpose(1, 2);
}

std::tuple<Tensor, Tensor, Tensor, Tensor> efficient(const Tensor& q,
                                                     const Tensor& k,
                                                     const Tensor& v,
                                                     const std::optional<Tensor>& bias,
                                                     bool needs_log_sum,
                                                     double dropout,
                                                     bool is_causal,
                                                     Scale scale) {
  constexpr std::int64_t kRows = 32;  // a multiple of which the kernel pads rows to
  const Tensor seed = draw_seed(q, dropout);
  OpCall call("aten::_scaled_dot_product_efficient_attention", HostTensors::refused);
  const Attention a =
      attention_of(call, q, k, v, bias.value_or(Tensor()), dropout, is_causal, scale, seed);
  const at::AutoDispatchBelowADInplaceOrView below;
  auto [y, log_sum] = forward(a);
  const std::int64_t rows = (q.size(-2) + kRows - 1) / kRows * kRows;
  log_sum = needs_log_sum ? at::constant_pad_nd(log_sum, {0, rows - q.size(-2)}).to(at::kFloat)
                          : at::empty({q.size(0), q.size(1), 0}, at::kFloat);
  return {call.to_gpu(by_position(y, q.scalar_type())),
          call.to_gpu(log_sum),
          seed,
          at::zeros({}, at::kLong)};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> efficient_backward(const Tensor& dy,
                                                              const Tensor& q,
                                                              const Tensor& k,
                                                              const Tensor& v,
                                                              const Tensor& bias,
                                                              const Tensor&,
                                                              const Tensor&,
                                                              const Tensor& seed,
                                                              const Tensor&,
                                                              double dropout,
                                                              std::array<bool, 4> needed,
                                                              bool is_causal,
                                                              Scale scale) {
  if (!dy.defined()) return {};
  OpCall call("aten::_scaled_dot_product_efficient_attention_backward", HostTensors::refused);
  const Tensor host_dy = call.to_host(dy, false);
  const Attention a = attention_of(call, q, k, v, bias, dropout, is_causal, scale, seed);
  const at::AutoDispatchBelowADInplaceOrView below;
  const auto [dq, dk, dv, ds] = backward(a, wide_values(host_dy));
  const auto type = q.scalar_type();
  return {call.to_gpu(by_position(dq, type)),
          call.to_gpu(by_position(dk, type)),
          call.to_gpu(by_position(dv, type)),
          needed[3] && bias.defined() ? call.to_gpu(at::sum_to(ds, bias.sizes()).to(type).clone())
                                      : Tensor()};
}

std::tuple<Tensor, Tensor, Tensor, Tensor, c10::SymInt, c10::SymInt, Tensor, Tensor, Tensor> flash(
    const Tensor& q,
    const Tensor& k,
    const Tensor& v,
    double dropout,
    bool is_causal,
    bool,
    Scale scale) {
  const Tensor seed = draw_seed(q, dropout);
  OpCall call("aten::_scaled_dot_product_flash_attention", HostTensors::refused);
  const Attention a = attention_of(call, q, k, v, Tensor(), dropout, is_causal, scale, seed);
  const at::AutoDispatchBelowADInplaceOrView below;
  const auto [y, log_sum] = forward(a);
  const Tensor none = at::empty({0}, q.options());
  return {call.to_gpu(by_position(y, q.scalar_type())),
          call.to_gpu(log_sum.to(at::kFloat)),
          Tensor(),
          Tensor(),
          q.size(-2),
          k.size(-2),
          seed,
          at::zeros({}, at::kLong),
          none};
}

std::tuple<Tensor, Tensor, Tensor> flash_backward(const Tensor& dy,
                                                  const Tensor& q,
                                                  const Tensor& k,
                                                  const Tensor& v,
                                                  const Tensor&,
                                                  const Tensor&,
                                                  const Tensor&,
                                                  const Tensor&,
                                                  c10::SymInt,
                                                  c10::SymInt,
                                                  double dropout,
                                                  bool is_causal,
                                                  const Tensor& seed,
                                                  const Tensor&,
                                                  Scale scale) {
  if (!dy.defined()) return {};
  OpCall call("aten::_scaled_dot_product_flash_attention_backward", HostTensors::refused);
  const Tensor host_dy = call.to_host(dy, false);
  const Attention a = attention_of(call, q, k, v, Tensor(), dropout, is_causal, scale, seed);
  const at::AutoDispatchBelowADInplaceOrView below;
  const auto [dq, dk, dv, ds] = backward(a, wide_values(host_dy));
  const auto type = q.scalar_type();
  return {call.to_gpu(by_position(dq, type)),
          call.to_gpu(by_position(dk, type)),
          call.to_gpu(by_position(dv, type))};
}

}  // namespace

void register_attention(torch::Library& gpu) {
  gpu.impl("_scaled_dot_product_efficient_attention", efficient);
  gpu.impl("_scaled_dot_product_efficient_attention_backward", efficient_backward);
  gpu.impl("_scaled_dot_product_flash_attention", flash);
  gpu.impl("_scaled_dot_product_flash_attention_backward", flash_backward);
  at::globalContext().setSDPUseCuDNN(false);
}

}  // namespace tandem::stand_in
