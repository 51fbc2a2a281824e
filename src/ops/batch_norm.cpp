// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/ops/batch_norm.hpp"

#include <memory>
#include <utility>

#include "tandem/autograd/autograd.hpp"
#include "tandem/autograd/row_group.hpp"
#include "tandem/core/check.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/compare.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/ops/unary.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/tensor/access.hpp"
#include "tandem/tensor/factories.hpp"

#include "kernels/batch_norm.hpp"
#include "ops/autocast.hpp"
#include "ops/memory_format.hpp"
#include "tensor/view_of.hpp"

namespace tandem {
namespace {

using autograd::Formula;
using autograd::Gradients;
using autograd::Saved;
using kernels::NormLayout;

void check_channels(const char* op, const Tensor& x, const Tensor& t, const char* what) {
  if (!t.defined()) return;
  TANDEM_CHECK(t.shape() == Shape{x.size(1)} && t.dtype() == x.dtype(),
               op,
               ": ",
               what,
               " is ",
               t.describe(),
               ", but x is ",
               x.describe(),
               "; expected ",
               x.dtype(),
               " (",
               x.size(1),
               ")");
}

void check_input(const char* op, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  TANDEM_CHECK(is_float(x.dtype()) && x.ndim() >= 2,
               op,
               ": needs a float tensor (N, C) or (N, C, ...), got ",
               x.describe());
  check_channels(op, x, weight, "weight");
  check_channels(op, x, bias, "bias");
}

/// The replicas whose rows count; null: this one's alone.
std::shared_ptr<RowGroup> group_of(BatchNormSync sync) {
  std::shared_ptr<RowGroup> group =
      sync == BatchNormSync::synchronised ? current_row_group() : nullptr;
  return group != nullptr && group->size() > 1 ? group : nullptr;
}

/// A dense tensor like `x`, off the tape.
Tensor dense(const Tensor& x) {
  const bool last = x.ndim() == 4 && format_of(x) == MemoryFormat::channels_last;
  return x.detach().contiguous(last ? MemoryFormat::channels_last : MemoryFormat::contiguous);
}

/// The layout of dense `x`: channels-last where channels lie next to each other.
NormLayout layout_of(const Tensor& x) {
  const std::int64_t channels = x.size(1), each = channels == 0 ? 0 : x.numel() / channels;
  if (x.ndim() == 2 || !x.is_contiguous()) return {each, channels, 1};
  return {x.size(0), channels, x.size(0) == 0 ? 1 : each / x.size(0)};
}

/// `t`, of one number per channel, so that it broadcasts over `x`.
Tensor per_channel(const Tensor& t, const Tensor& x) {
  Shape shape = Shape::filled(x.ndim(), 1);
  shape[1] = x.size(1);
  return t.reshape(shape);
}

Dims all_but_channels(const Tensor& x) {
  Dims dims{0};
  for (int d = 2; d < x.ndim(); ++d)
    dims.push_back(d);
  return dims;
}

Tensor f64_like(const Tensor& x, const Shape& shape) {
  return empty(shape, {.dtype = DType::f64, .device = x.device()});
}

Work norm_work(const char* op,
               std::initializer_list<Tensor> in,
               std::initializer_list<Tensor> out) {
  return make_work(Work::Kind::norm, op, in, out);
}

/// One batch norm: what forward found and backward needs.
struct Norm {
  Saved x, weight, bias;
  Tensor mean{}, rstd{};  // (C)
  Tensor scale{};         // (C): rstd * weight
  double eps = 0;
  double count = 0;  // elements per channel of the rows at hand; 0: the statistics are constants
  Tensor count_of_all{};  // f64 (): over all replicas; undefined: those at hand are all
  BatchNormSync sync = BatchNormSync::per_replica;
  NormActivation activation = NormActivation::none;

  kernels::Affine affine() const {
    return {view_of(mean),
            view_of(scale),
            bias.get().defined() ? view_of(bias.get()) : kernels::View{},
            activation == NormActivation::relu ? kernels::After::relu : kernels::After::nothing};
  }
  kernels::BatchCount batch_count() const {
    if (!count_of_all.defined()) return {.host = count};
    return {.device = static_cast<const double*>(count_of_all.data())};
  }
  bool uses_batch() const { return count > 0 || count_of_all.defined(); }

  Tensor forward(const Tensor& in) const;
  Gradients fused(const Tensor& dy) const;
  Gradients formula(const Tensor& dy) const;

 private:
  /// The mean over the batch, from the sum over the rows at hand.
  Tensor mean_of(const Tensor& part) const {
    const Tensor sum = sync == BatchNormSync::synchronised ? sum_over_replicas(part) : part;
    return count_of_all.defined() ? sum / count_of_all.to(sum.dtype()) : sum / count;
  }
};

Tensor Norm::forward(const Tensor& in) const {
  const Tensor y = empty_like(in);
  dispatch(in.stream(), norm_work("batch_norm", {in, mean, scale, bias.get()}, {y}), [&](auto& s) {
    kernels::batch_norm(s, layout_of(in), view_of(in), affine(), view_of(y));
  });
  return y;
}

Gradients Norm::fused(const Tensor& dy_) const {
  const Tensor &given = x.get(), &w = weight.get(), &b = bias.get();
  const Tensor in = dense(given);
  const Tensor dy = dy_.detach().contiguous(in.is_contiguous() ? MemoryFormat::contiguous
                                                               : MemoryFormat::channels_last);
  const NormLayout layout = layout_of(in);
  const Tensor sums = f64_like(in, {2, layout.channels});
  Gradients gradients(3);
  dispatch(in.stream(),
           with_workspace(norm_work("batch_norm_sums", {in, dy, mean, scale, bias.get()}, {sums})),
           [&](auto& s) {
             kernels::batch_norm_sums(s, layout, view_of(in), affine(), view_of(dy), view_of(sums));
           });
  if (w.defined() || b.defined()) {  // of the rows at hand: the wrapper sums parameters'
                                     // gradients over replicas
    gradients[1] = empty_like(mean);
    gradients[2] = empty_like(mean);
    dispatch(in.stream(),
             norm_work("batch_norm_parameter_grads", {sums, rstd}, {gradients[1], gradients[2]}),
             [&](auto& s) {
               kernels::batch_norm_parameter_grads(
                   s, view_of(sums), view_of(rstd), view_of(gradients[1]), view_of(gradients[2]));
             });
  }
  if (!w.defined()) gradients[1] = Tensor();
  if (!b.defined()) gradients[2] = Tensor();
  if (!autograd::wants(given)) return gradients;
  const auto group = uses_batch() ? group_of(sync) : nullptr;
  const Tensor all = group != nullptr ? group->all_reduce_sum(sums) : sums;
  const Tensor dx = empty_like(in);
  dispatch(in.stream(),
           norm_work("batch_norm_input_grad",
                     {in, dy, mean, scale, bias.get(), all, rstd, count_of_all},
                     {dx}),
           [&](auto& s) {
             kernels::batch_norm_input_grad(s,
                                            layout,
                                            view_of(in),
                                            affine(),
                                            view_of(dy),
                                            uses_batch() ? view_of(all) : kernels::View{},
                                            view_of(rstd),
                                            batch_count(),
                                            view_of(dx));
           });
  gradients[0] = dx;
  return gradients;
}

// With c = x - mean, h = c * r, r = 1 / sqrt(var + eps), g = dy * weight and S the sum over the
// batch: dx = r * (g - S(g) / count - h * S(g * h) / count). All of it in differentiable ops of x,
// weight, dy.
Gradients Norm::formula(const Tensor& dy_) const {
  const Tensor &in = x.get(), &w = weight.get(), &b = bias.get();
  const Dims dims = all_but_channels(in);
  Tensor centred, r;
  if (uses_batch()) {
    centred = in - mean_of(sum(in, dims, KeepDims::yes));
    r = rsqrt(mean_of(sum(square(centred), dims, KeepDims::yes)) + eps);
  } else {
    centred = in - per_channel(mean, in);
    r = per_channel(rstd, in);
  }
  const Tensor h = centred * r;
  Tensor dy = dy_;
  if (activation == NormActivation::relu) {
    Tensor y = w.defined() ? h.detach() * per_channel(w.detach(), in) : h.detach();
    if (b.defined()) y = y + per_channel(b.detach(), in);
    dy = where(gt(y, 0.0), dy, 0.0);
  }
  const Tensor g = w.defined() ? dy * per_channel(w, in) : dy;
  Tensor dx;
  if (autograd::wants(in)) {
    dx = uses_batch() ? r * (g - mean_of(sum(g, dims, KeepDims::yes)) -
                             h * mean_of(sum(g * h, dims, KeepDims::yes)))
                      : r * g;
  }
  return {dx, w.defined() ? sum(dy * h, dims) : Tensor(), b.defined() ? sum(dy, dims) : Tensor()};
}

/// Moments of the batch in f64: (1 + 2 C), joined over the group's replicas in rank order.
Tensor batch_moments(const Tensor& x, RowGroup* group) {
  const NormLayout layout = layout_of(x);
  const std::int64_t width = 1 + 2 * layout.channels;
  const Tensor moments = f64_like(x, {width});
  const Work work = with_workspace(norm_work("batch_norm_moments", {x}, {moments}));
  dispatch(x.stream(), work, [&](auto& s) {
    kernels::batch_moments(s, layout, view_of(x), view_of(moments));
  });
  if (group == nullptr) return moments;
  // Every replica writes its own row; the sum with zeros is exact, so all have all parts, bit for
  // bit.
  const Tensor mine = zeros({group->size(), width}, {.dtype = DType::f64, .device = x.device()});
  mine.select(0, group->rank()).copy_(moments);
  const Tensor parts = group->all_reduce_sum(mine);
  dispatch(x.stream(), norm_work("batch_norm_merge", {parts}, {moments}), [&](auto& s) {
    kernels::merge_moments(s, view_of(parts), view_of(moments));
  });
  return moments;
}

/// Waits for the device only where the rows at hand do not tell.
///
/// @param count         of the rows at hand. @param count_of_all  undefined: they are all.
bool has_variance(std::int64_t count, const Tensor& count_of_all) {
  if (!count_of_all.defined()) return count != 1;
  return count > 1 || count_of_all.item_or(2) != 1;
}

Tensor record_norm(const char* op, Tensor y, const Tensor& x, const Tensor& weight, Norm&& norm) {
  const Tensor bias = norm.bias.get();
  const auto kept = std::make_shared<const Norm>(std::move(norm));
  return autograd::record(op,
                          std::move(y),
                          {x, weight, bias},
                          Formula([kept](const Tensor& dy) { return kept->formula(dy); }),
                          Formula([kept](const Tensor& dy) { return kept->fused(dy); }));
}

}  // namespace

BatchNormResult batch_norm(const Tensor& x_,
                           const Tensor& weight,
                           const Tensor& bias,
                           double eps,
                           BatchNormSync sync,
                           NormActivation activation) {
  if (is_float16(x_.dtype())) {
    BatchNormResult result =
        batch_norm(widened(x_), widened(weight), widened(bias), eps, sync, activation);
    result.y = narrowed(result.y, x_.dtype());
    return result;
  }
  check_input("batch_norm", x_, weight, bias);
  const Tensor x = dense(x_);
  const auto group = group_of(sync);
  const Tensor moments = batch_moments(x, group.get());
  const std::int64_t count = layout_of(x).count();
  const Tensor count_of_all = group == nullptr ? Tensor() : moments.select(0, 0);
  TANDEM_CHECK(
      has_variance(count, count_of_all),
      "batch_norm: one value per channel has no variance: x ",
      x_.shape(),
      " needs more than one row or pixel in training; raise the batch size, or call eval()");

  Norm norm{.x = Saved(x_),
            .weight = Saved(weight),
            .bias = Saved(bias),
            .eps = eps,
            .count = static_cast<double>(count),
            .count_of_all = count_of_all,
            .sync = sync,
            .activation = activation};
  const Shape channels{x.size(1)};
  const TensorOptions place{.dtype = x.dtype(), .device = x.device()};
  norm.mean = empty(channels, place);
  norm.rstd = empty(channels, place);
  const Tensor var = empty(channels, place);
  dispatch(x.stream(),
           norm_work("batch_norm_finish", {moments}, {norm.mean, var, norm.rstd}),
           [&](auto& s) {
             kernels::finish_moments(
                 s, eps, view_of(moments), view_of(norm.mean), view_of(var), view_of(norm.rstd));
           });
  norm.scale = weight.defined() ? norm.rstd * weight.detach() : norm.rstd;
  const BatchNormStatistics statistics{norm.mean, var, count, count_of_all};
  Tensor y = norm.forward(x);
  return {record_norm("batch_norm", std::move(y), x_, weight, std::move(norm)), statistics};
}

Tensor batch_norm_eval(const Tensor& x,
                       const Tensor& running_mean,
                       const Tensor& running_var,
                       const Tensor& weight,
                       const Tensor& bias,
                       double eps,
                       NormActivation activation) {
  if (is_float16(x.dtype())) {
    return narrowed(batch_norm_eval(widened(x),
                                    widened(running_mean),
                                    widened(running_var),
                                    widened(weight),
                                    widened(bias),
                                    eps,
                                    activation),
                    x.dtype());
  }
  check_input("batch_norm_eval", x, weight, bias);
  TANDEM_CHECK(running_mean.defined() && running_var.defined(),
               "batch_norm_eval: needs running_mean and running_var");
  check_channels("batch_norm_eval", x, running_mean, "running_mean");
  check_channels("batch_norm_eval", x, running_var, "running_var");
  Norm norm{.x = Saved(x),
            .weight = Saved(weight),
            .bias = Saved(bias),
            .eps = eps,
            .activation = activation};
  norm.mean = running_mean.detach().clone();  // training changes the running ones in place
  norm.rstd = rsqrt(running_var.detach() + eps);
  norm.scale = weight.defined() ? norm.rstd * weight.detach() : norm.rstd;
  Tensor y = norm.forward(dense(x));
  return record_norm("batch_norm_eval", std::move(y), x, weight, std::move(norm));
}

}  // namespace tandem
