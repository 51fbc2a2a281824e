// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/ops/attention.hpp"

#include <array>
#include <cmath>

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/check.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/compare.hpp"
#include "tandem/ops/dropout.hpp"
#include "tandem/ops/index.hpp"
#include "tandem/ops/linalg.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/ops/softmax.hpp"
#include "tandem/tensor/access.hpp"
#include "tandem/tensor/factories.hpp"

#include "kernels/attention.hpp"
#include "kernels/fill.hpp"
#include "ops/autocast.hpp"
#include "ops/dropout.hpp"
#include "ops/output.hpp"
#include "tensor/view_of.hpp"

namespace tandem {
namespace {

using autograd::Gradients;
using autograd::Saved;

/// q, k, v or their gradients: (batch, heads, sequence, dim).
using Three = std::array<Tensor, 3>;

/// A score that counts as none: exp of it is zero, and a row of it has no NaN.
constexpr double kNoScore = -1e30;

/// Like x, with heads inside of the sequence where x has it so: merging heads is then a view.
Tensor empty_heads(const Shape& shape, const Tensor& like) {
  Strides strides = contiguous_strides(shape);
  if (like.strides()[1] < like.strides()[2]) {
    strides[1] = shape[3];
    strides[2] = shape[1] * shape[3];
  }
  return empty_strided(shape, strides, like.dtype(), like.device());
}

/// `x` off the tape in rows that BLAS reads.
Tensor readable_rows(const Tensor& x) {
  const bool fits = (x.strides()[3] == 1) && (x.size(2) == 1 || x.strides()[2] >= x.size(3));
  return fits ? x.detach() : x.detach().contiguous();
}

/// What attention is told beside q, k and v.
struct Call {
  Tensor mask{};  // of all scores, by strides; undefined: none
  double scale = 1;
  bool causal = false;
  double dropout = 0;
  kernels::DropoutKey key{};

  kernels::Attention form(const Three& in) const {
    return {view_of(in[0]),
            view_of(in[1]),
            view_of(in[2]),
            mask.defined() ? view_of(mask) : kernels::View{},
            scale,
            causal,
            dropout,
            key};
  }
  static double flops(const Three& in) {
    return 2 * static_cast<double>(in[0].size(0) * in[0].size(1) * in[0].size(2)) *
           static_cast<double>(in[1].size(2) * (in[0].size(3) + in[2].size(3)));
  }

  Tensor forward(const Three& in, const Tensor& out) const;
  void backward(const Three& in,
                const Tensor& out,
                const Tensor& lse,
                const Tensor& dout,
                const Three& to) const;
  Three formula(const Three& in, const Tensor& dy) const;

 private:
  Tensor keep(const Three& in) const;
};

/// @return  the log of each query's sum of exponentials.
Tensor Call::forward(const Three& in, const Tensor& out) const {
  const Tensor& q = in[0];
  const DType number = is_float16(q.dtype()) ? DType::f32 : q.dtype();
  const Tensor lse =
      empty({q.size(0), q.size(1), q.size(2)}, {.dtype = number, .device = q.device()});
  if (out.numel() == 0) return lse;
  dispatch(q.stream(),
           with_workspace(make_work(Work::Kind::gemm,
                                    "attention",
                                    {q, in[1], in[2], mask},
                                    {out, lse},
                                    causal ? flops(in) / 2 : flops(in))),
           [&](auto& s) {
             if (in[1].size(2) == 0)
               kernels::fill(s, 0, view_of(out));
             else
               kernels::attention(s, form(in), view_of(out), view_of(lse));
           });
  return lse;
}

void Call::backward(const Three& in,
                    const Tensor& out,
                    const Tensor& lse,
                    const Tensor& dout,
                    const Three& to) const {
  dispatch(out.stream(),
           with_workspace(make_work(Work::Kind::gemm,
                                    "attention_grad",
                                    {in[0], in[1], in[2], mask, out, lse, dout},
                                    {to[0], to[1], to[2]},
                                    (causal ? 1.25 : 2.5) * flops(in))),
           [&](auto& s) {
             if (out.numel() > 0 && in[1].size(2) > 0) {
               return kernels::attention_grad(s,
                                              form(in),
                                              view_of(out),
                                              view_of(lse),
                                              view_of(dout),
                                              {view_of(to[0]), view_of(to[1]), view_of(to[2])});
             }
             for (const Tensor& x : to)
               kernels::fill(s, 0, view_of(x));
           });
}

/// 1 / (1 - p) where dropout keeps a probability, else zero.
Tensor Call::keep(const Three& in) const {
  const Tensor& q = in[0];
  const Tensor keep = empty({q.size(0), q.size(1), q.size(2), in[1].size(2)},
                            {.dtype = q.dtype(), .device = q.device()});
  dispatch(q.stream(), make_work(Work::Kind::random, "attention_keep", {}, {keep}), [&](auto& s) {
    kernels::attention_keep(s, dropout, key, view_of(keep));
  });
  return keep;
}

// With P the probabilities, K what dropout keeps of them and D = (dy v^T) * K:
// dv = (P * K)^T dy, dS = P * (D - sum(P * D)) * scale, dq = dS k, dk = dS^T q. All of it in
// differentiable ops.
Three Call::formula(const Three& in, const Tensor& dy) const {
  if (const DType t = dy.dtype(); is_float16(t)) {
    const Autocast off(DType::f32);
    Call wide = *this;
    wide.mask = widened(mask);
    const auto [dq, dk, dv] =
        wide.formula({widened(in[0]), widened(in[1]), widened(in[2])}, widened(dy));
    return {dq.to(t), dk.to(t), dv.to(t)};
  }
  const auto& [q, k, v] = in;
  std::vector<Tensor> visible;
  Tensor scores = matmul(q, k.t()) * scale;
  if (causal) {
    const TensorOptions place{.dtype = DType::i64, .device = q.device()};
    const Tensor keys = arange(0, static_cast<double>(k.size(2)), 1, place);
    const Tensor queries = arange(0, static_cast<double>(q.size(2)), 1, place);
    visible.push_back(le(keys.unsqueeze(0), queries.unsqueeze(1)));
  }
  if (mask.defined()) {
    const bool allows = mask.dtype() == DType::boolean;
    visible.push_back(allows ? mask : gt(mask, kNoScore));
    if (!allows) scores = scores + mask;
  }
  for (const Tensor& sees : visible)
    scores = where(sees, scores, kNoScore);
  Tensor p = softmax(scores, -1);
  for (const Tensor& sees : visible)  // a query that sees no key
    p = where(sees, p, 0.0);
  const Tensor kept = dropout > 0 ? keep(in) : Tensor();
  const Tensor dp = kept.defined() ? matmul(dy, v.t()) * kept : matmul(dy, v.t());
  const Tensor ds = p * (dp - sum(p * dp, {3}, KeepDims::yes)) * scale;
  return {matmul(ds, k), matmul(ds.t(), q), matmul((kept.defined() ? p * kept : p).t(), dy)};
}

void check_options(const char* op, const AttentionOptions& options, const Tensor& mask) {
  TANDEM_CHECK(options.dropout_p >= 0 && options.dropout_p < 1,
               op,
               ": dropout_p is ",
               options.dropout_p,
               "; it must be a probability in [0, 1)");
  TANDEM_CHECK(!mask.defined() || !mask.requires_grad(),
               op,
               ": the mask ",
               mask.describe(),
               " requires grad, but attention gives it no gradient; detach() it");
}

/// @param shape  of the scores.
Call make_call(const char* op,
               const Tensor& q,
               const Shape& shape,
               const Tensor& mask,
               const AttentionOptions& options,
               std::int64_t dim) {
  check_options(op, options, mask);
  Call call{.scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(dim))),
            .causal = options.causal,
            .dropout = options.dropout_p};
  if (mask.defined()) {
    TANDEM_CHECK(mask.dtype() == DType::boolean || mask.dtype() == q.dtype(),
                 op,
                 ": the mask must be bool or ",
                 q.dtype(),
                 " like q, got ",
                 mask.describe());
    TANDEM_CHECK(mask.ndim() <= shape.size() && broadcast_shapes(mask.shape(), shape, op) == shape,
                 op,
                 ": the mask ",
                 mask.shape(),
                 " does not broadcast to the scores ",
                 shape);
    call.mask = mask.expand(shape);
  }
  return call;
}

/// Attention of four dimensions.
Tensor attend(const Three& x, Call call) {
  const auto& [q, k, v] = x;
  if (call.dropout > 0) call.key = next_dropout_key(q.size(0));
  const Three in{readable_rows(q), readable_rows(k), readable_rows(v)};
  const Tensor y = empty_heads({q.size(0), q.size(1), q.size(2), v.size(3)}, q);
  const Tensor lse = call.forward(in, y);
  const std::array<Saved, 3> saved{Saved(q), Saved(k), Saved(v)};
  const auto inputs = [saved] { return Three{saved[0].get(), saved[1].get(), saved[2].get()}; };
  return autograd::record(
      "attention",
      y,
      {q, k, v},
      [call, inputs](const Tensor& dy, const Tensor&) {
        const auto [dq, dk, dv] = call.formula(inputs(), dy);
        return Gradients{dq, dk, dv};
      },
      [call, inputs, lse](const Tensor& dy, const Tensor& out) {
        const Three all = inputs();
        const Three of{readable_rows(all[0]), readable_rows(all[1]), readable_rows(all[2])};
        const Three to{empty_heads(of[0].shape(), of[0]),
                       empty_heads(of[1].shape(), of[1]),
                       empty_heads(of[2].shape(), of[2])};
        call.backward(of, out, lse, readable_rows(dy), to);
        return Gradients{to[0], to[1], to[2]};
      });
}

/// `x` (batch, sequence, count * width) as `count` tensors of heads; off the tape, without copies.
Three heads_of(const Tensor& x, std::int64_t heads, int count) {
  const std::int64_t step = x.size(2), width = step / count;
  Three result;
  for (int i = 0; i < count; ++i) {
    result[static_cast<std::size_t>(i)] = as_strided(x,
                                                     {x.size(0), heads, x.size(1), width / heads},
                                                     {x.size(1) * step, width / heads, step, 1},
                                                     x.impl().offset + i * width);
  }
  return result;
}

/// The same on the tape.
Three split_heads(const Tensor& qkv, std::int64_t heads) {
  const std::int64_t width = qkv.size(2) / 3;
  const auto part = [&](std::int64_t i) {
    return qkv.narrow(2, i * width, width)
        .reshape({qkv.size(0), qkv.size(1), heads, width / heads})
        .transpose(1, 2);
  };
  return {part(0), part(1), part(2)};
}

Tensor merge_heads(const Tensor& x) {
  return x.transpose(1, 2).reshape({x.size(0), x.size(2), x.size(1) * x.size(3)});
}

Shape leading(const Tensor& x) {
  Shape shape = x.shape();
  shape.erase(shape.size() - 1);
  shape.erase(shape.size() - 1);
  return shape;
}

/// `x` with leading sizes `batch`, as four dimensions.
Tensor four_dims(const Tensor& x, const Shape& batch) {
  Shape full = batch, shape{1, 1, x.size(-2), x.size(-1)};
  full.push_back(x.size(-2));
  full.push_back(x.size(-1));
  const Tensor all = x.shape() == full ? x : x.expand(full);
  for (int d = 0; d < batch.size() - 1; ++d)
    shape[0] *= batch[d];
  if (!batch.empty()) shape[1] = batch[-1];
  return all.shape() == shape ? all : all.reshape(shape);
}

}  // namespace

Tensor scaled_dot_product_attention(const Tensor& query,
                                    const Tensor& key,
                                    const Tensor& value,
                                    const Tensor& mask,
                                    AttentionOptions options) {
  const Tensor q = as_factor(query), k = as_factor(key), v = as_factor(value);
  constexpr const char* kOp = "scaled_dot_product_attention";
  TANDEM_CHECK(is_float(q.dtype()) && k.dtype() == q.dtype() && v.dtype() == q.dtype(),
               kOp,
               ": needs floats of one dtype, got q ",
               q.describe(),
               ", k ",
               k.describe(),
               " and v ",
               v.describe());
  TANDEM_CHECK(
      q.ndim() >= 2 && k.ndim() >= 2 && v.ndim() >= 2 && q.size(-1) > 0 &&
          q.size(-1) == k.size(-1) && k.size(-2) == v.size(-2),
      kOp,
      ": q ",
      q.shape(),
      ", k ",
      k.shape(),
      " and v ",
      v.shape(),
      " do not fit together; expected (..., queries, dim), (..., keys, dim) and (..., keys, any)");
  const Shape batch =
      broadcast_shapes(broadcast_shapes(leading(q), leading(k), kOp), leading(v), kOp);
  Shape scores = batch, result = batch;
  for (const std::int64_t n : {q.size(-2), k.size(-2)})
    scores.push_back(n);
  for (const std::int64_t n : {q.size(-2), v.size(-1)})
    result.push_back(n);
  Call call = make_call(kOp, q, scores, mask, options, q.size(-1));
  if (call.mask.defined()) call.mask = four_dims(call.mask, batch);
  const Tensor y = attend({four_dims(q, batch), four_dims(k, batch), four_dims(v, batch)}, call);
  return y.shape() == result ? y : y.reshape(result);
}

Tensor packed_attention(const Tensor& packed,
                        std::int64_t heads,
                        const Tensor& mask,
                        AttentionOptions options) {
  const Tensor qkv = as_factor(packed);
  TANDEM_CHECK(is_float(qkv.dtype()) && qkv.ndim() == 3,
               "packed_attention: needs floats (batch, sequence, 3 * width), got ",
               qkv.describe());
  TANDEM_CHECK(heads > 0 && qkv.size(2) > 0 && qkv.size(2) % (3 * heads) == 0,
               "packed_attention: the last size of ",
               qkv.shape(),
               " must be three times ",
               heads,
               " heads of equal size");
  const std::int64_t rows = qkv.size(1), width = qkv.size(2) / 3;
  Call call = make_call(
      "packed_attention", qkv, {qkv.size(0), heads, rows, rows}, mask, options, width / heads);
  if (call.dropout > 0) call.key = next_dropout_key(qkv.size(0));
  const Tensor y =
      empty({qkv.size(0), rows, width}, {.dtype = qkv.dtype(), .device = qkv.device()});
  const Tensor lse =
      call.forward(heads_of(qkv.detach().contiguous(), heads, 3), heads_of(y, heads, 1)[0]);
  return autograd::record(
      "packed_attention",
      y,
      {qkv},
      [call, heads, x = Saved(qkv)](const Tensor& dy, const Tensor&) {
        const Tensor heads_dy =
            dy.reshape({dy.size(0), dy.size(1), heads, dy.size(2) / heads}).transpose(1, 2);
        const auto [dq, dk, dv] = call.formula(split_heads(x.get(), heads), heads_dy);
        return Gradients{cat({merge_heads(dq), merge_heads(dk), merge_heads(dv)}, 2)};
      },
      [call, heads, lse, x = Saved(qkv)](const Tensor& dy, const Tensor& out) {
        const Tensor in = x.get().detach().contiguous();
        const Tensor to = empty(in.shape(), {.dtype = in.dtype(), .device = in.device()});
        call.backward(heads_of(in, heads, 3),
                      heads_of(out, heads, 1)[0],
                      lse,
                      heads_of(dy.detach().contiguous(), heads, 1)[0],
                      heads_of(to, heads, 3));
        return Gradients{to};
      });
}

}  // namespace tandem
