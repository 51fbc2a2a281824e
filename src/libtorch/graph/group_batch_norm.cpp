// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/graph/group_batch_norm.hpp"

#include <cstddef>
#include <memory>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/batch_norm_native.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>

#include "tandem/autograd/row_group.hpp"
#include "tandem/core/check.hpp"

#include "libtorch/graph/group_sum.hpp"
#include "libtorch/graph/replica_node.hpp"
#include "libtorch/modules/replica_scope.hpp"
#include "libtorch/versions/torch_differences.hpp"
#include "runtime/gpu/devices_of_gpu.hpp"

namespace tandem::libtorch {
namespace {

using torch::autograd::SavedVariable;

// Replicas without rows count as this many, since PyTorch's op would divide 0 by 0.
constexpr double kAlmostNone = 1e-30;

/// As PyTorch's ops take it: contiguous in one of the formats.
at::Tensor dense(const at::Tensor& x) {
  return x.contiguous(x.suggest_memory_format());
}

std::vector<std::int64_t> all_but_channels(const at::Tensor& x) {
  std::vector<std::int64_t> dims{0};
  for (std::int64_t d = 2; d < x.dim(); ++d)
    dims.push_back(d);
  return dims;
}

/// A number for each channel, so that it broadcasts over `x`.
at::Tensor per_channel(const at::Tensor& t, const at::Tensor& x) {
  std::vector<std::int64_t> shape(static_cast<std::size_t>(x.dim()), 1);
  shape[1] = -1;
  return t.reshape(shape);
}

at::ScalarType wide_type(const at::Tensor& x) {
  return x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

/// What the replicas have found.
struct Statistics {
  at::Tensor mean, invstd;  // (replicas, C)
  at::Tensor counts;        // (replicas): values per channel
  bool has_values = true;   // of any replica

  std::int64_t channels() const { return mean.size(1); }
};

/// Values per channel of all replicas; those of this one where they are enough to tell.
double checked_count(const at::Tensor& x, std::int64_t own, const at::Tensor& counts) {
  const double count = own > 1 ? static_cast<double>(own) : counts.sum().item<double>();
  TORCH_CHECK_VALUE(count != 1,
                    "Expected more than 1 value per channel when training, got input size ",
                    x.sizes());
  return count;
}

/// Every replica writes its own row; the sum with zeros is exact.
Statistics of_all_replicas(const at::Tensor& x, double eps, const TorchSource& source) {
  const std::int64_t channels = x.size(1), own = channels == 0 ? 0 : x.numel() / channels;
  const at::Tensor all =
      at::zeros({current_row_group()->size(), 2 * channels + 1}, x.options().dtype(wide_type(x)));
  const at::Tensor mine = all.select(0, current_row_group()->rank());
  if (own > 0) {
    const auto [mean, invstd] = at::batch_norm_stats(x, eps);
    mine.narrow(0, 0, channels).copy_(mean);
    mine.narrow(0, channels, channels).copy_(invstd);
  } else {
    mine.narrow(0, channels, channels).fill_(1);
  }
  mine.narrow(0, 2 * channels, 1).fill_(static_cast<double>(own));
  const at::Tensor found = sum_over_group(all, source);
  Statistics s{found.narrow(1, 0, channels).contiguous(),
               found.narrow(1, channels, channels).contiguous(),
               found.select(1, 2 * channels).contiguous()};
  s.has_values = checked_count(x, own, s.counts) > 0;
  return s;
}

/// Mean and 1 / sqrt(var + eps) of all rows; the running statistics follow them, if there are any.
std::pair<at::Tensor, at::Tensor> joined(const Statistics& s, const BatchNormCall& c) {
  // Uncounted writes, as PyTorch's own batch norm makes them.
  const auto wide = [&](const at::Tensor& running) {
    const bool follows = running.defined() && s.has_values;
    return follows ? running.tensor_data().to(s.mean.scalar_type()) : at::Tensor();
  };
  const at::Tensor mean = wide(c.running_mean), var = wide(c.running_var);
  auto [all, invstd] = at::batch_norm_gather_stats_with_counts(
      s.mean, s.mean, s.invstd, mean, var, c.momentum, c.eps, s.counts.clamp_min(kAlmostNone));
  for (const auto& [from, to] : {std::pair(mean, c.running_mean), std::pair(var, c.running_var)})
    if (from.defined() && from.data_ptr() != to.data_ptr()) to.tensor_data().copy_(from);
  return {std::move(all), std::move(invstd)};
}

class GroupBatchNormNode final : public ReplicaNode {
 public:
  GroupBatchNormNode(const BatchNormCall& c,
                     at::Tensor mean,
                     at::Tensor invstd,
                     const at::Tensor& counts,
                     std::shared_ptr<TorchSource> source)
      : ReplicaNode("SynchronisedBatchNorm", Meets::yes, std::move(source)),
        x_(c.x, /*is_output=*/false),
        weight_(c.weight, /*is_output=*/false),
        mean_(std::move(mean)),
        invstd_(std::move(invstd)),
        counts_(counts.to(at::kInt)),
        eps_(c.eps) {}
  void release_variables() override {
    const std::scoped_lock lock(mutex_);
    x_.reset_data();
    weight_.reset_data();
    for (at::Tensor* const t : {&mean_, &invstd_, &counts_})
      t->reset();
  }

 protected:
  std::vector<at::Tensor> apply(std::vector<at::Tensor>&& dys) override {
    const std::scoped_lock lock(mutex_);
    const at::Tensor x = x_.unpack(), weight = weight_.unpack();
    const at::Tensor dy = dys[0].defined() ? dys[0] : at::zeros_like(x);
    return run([&] {
      return c10::GradMode::is_enabled() ? formula(x, weight, dy) : fused(dense(x), weight, dy);
    });
  }

 private:
  std::vector<at::Tensor> fused(const at::Tensor& x,
                                const at::Tensor& weight,
                                const at::Tensor& dy_) const {
    const bool of_x = should_compute_output(0);
    if (x.numel() == 0) return of_no_rows(x, weight);
    const at::Tensor dy = dy_.contiguous(x.suggest_memory_format());
    const auto [sum, sum_by_x, of_weight, of_bias] =
        at::batch_norm_backward_reduce(dy,
                                       x,
                                       mean_,
                                       invstd_,
                                       weight,
                                       of_x,
                                       weight.defined() && should_compute_output(1),
                                       should_compute_output(2));
    if (!of_x) return {{}, of_weight, of_bias};
    const auto sums = sum_over_group(at::stack({sum, sum_by_x}), *source());
    const at::Tensor wide = weight.defined() ? weight.to(mean_.scalar_type()) : weight;
    return {at::batch_norm_backward_elemt(
                dy, x, mean_, invstd_, wide, sums.select(0, 0), sums.select(0, 1), counts_),
            of_weight,
            of_bias};
  }
  /// The others wait for this replica all the same.
  std::vector<at::Tensor> of_no_rows(const at::Tensor& x, const at::Tensor& weight) const {
    if (should_compute_output(0))
      sum_over_group(at::zeros({2, x.size(1)}, mean_.options()), *source());
    const auto zeros = [&] {
      return at::zeros({x.size(1)}, (weight.defined() ? weight : mean_).options());
    };
    return {should_compute_output(0) ? at::zeros_like(x) : at::Tensor(),
            should_compute_output(1) ? zeros() : at::Tensor(),
            should_compute_output(2) ? zeros() : at::Tensor()};
  }

  // With c = x - mean, h = c * r, r = 1 / sqrt(var + eps), g = dy * weight and S the sum over the
  // batch: dx = r * (g - S(g) / count - h * S(g * h) / count). All of it in differentiable ops.
  std::vector<at::Tensor> formula(const at::Tensor& x_in,
                                  const at::Tensor& weight,
                                  const at::Tensor& dy_in) const {
    const auto dims = all_but_channels(x_in);
    const at::Tensor x = x_in.to(wide_type(x_in)), dy = dy_in.to(x.scalar_type());
    const at::Tensor count = counts_.sum();
    const auto mean_of = [&](const at::Tensor& each) {
      return differentiable_sum_over_group(each.sum(dims, /*keepdim=*/true), source()) / count;
    };
    const at::Tensor centred = x - mean_of(x);
    const at::Tensor r = (mean_of(centred.square()) + eps_).rsqrt(), h = centred * r;
    const at::Tensor g = weight.defined() ? dy * per_channel(weight.to(x.scalar_type()), x) : dy;
    std::vector<at::Tensor> all(3);
    if (should_compute_output(0))
      all[0] = (r * (g - mean_of(g) - h * mean_of(g * h))).to(x_in.scalar_type());
    const auto type = weight.defined() ? weight.scalar_type() : x.scalar_type();
    if (should_compute_output(1)) all[1] = (dy * h).sum(dims).to(type);
    if (should_compute_output(2)) all[2] = dy.sum(dims).to(type);
    return all;
  }

  SavedVariable x_, weight_;
  at::Tensor mean_, invstd_, counts_;
  double eps_;
};

/// PyTorch has one thread for the backwards of a GPU, in which its replicas cannot meet.
void check_alone_on_gpu(const at::Tensor& x) {
  const int gpu = x.get_device();  // which has the type of a character
  const std::size_t here = devices_of_gpu(gpu).size();
  TANDEM_CHECK(
      here <= 1,
      "batch_norm: GPU ",
      gpu,
      " has ",
      here,
      " devices, whose backwards PyTorch runs one after the other, so that they cannot share "
      "the statistics of the whole batch; give batch_norm per_replica, or each a GPU");
}

at::Tensor synchronised(const BatchNormCall& c, const std::shared_ptr<TorchSource>& source) {
  const bool records = c10::GradMode::is_enabled() &&
                       torch::autograd::any_variable_requires_grad({c.x, c.weight, c.bias});
  if (records) check_alone_on_gpu(c.x);
  at::Tensor mean, invstd, counts, y;
  {
    const at::AutoDispatchBelowADInplaceOrView off_graph;
    const at::Tensor x = dense(c.x);
    const Statistics all = of_all_replicas(x, c.eps, *source);
    std::tie(mean, invstd) = joined(all, c);
    counts = all.counts;
    y = x.numel() == 0 ? at::empty_like(x)
                       : at::batch_norm_elemt(x, c.weight, c.bias, mean, invstd, c.eps);
  }
  if (!records) return y;
  const auto node =
      make_node<GroupBatchNormNode>(c, std::move(mean), std::move(invstd), counts, source);
  node->set_next_edges(torch::autograd::collect_next_edges(c.x, c.weight, c.bias));
  torch::autograd::set_history(y, node);
  return y;
}

at::Tensor merged(const BatchNormCall& c, const TorchSource& source) {
  TORCH_CHECK_VALUE(c.x.numel() != c.x.size(1),
                    "Expected more than 1 value per channel when training, got input size ",
                    c.x.sizes());
  {
    const at::AutoDispatchBelowADInplaceOrView off_graph;
    joined(of_all_replicas(dense(c.x), c.eps, source), c);
  }
  return at::native::batch_norm(
      c.x, c.weight, c.bias, {}, {}, /*training=*/true, c.momentum, c.eps, c.cudnn);
}

}  // namespace

at::Tensor batch_norm_of_group(const BatchNormCall& call, BatchNormSync sync) {
  const auto& source = ReplicaScope::current().source();
  return source->stopped().watch([&] {
    return sync == BatchNormSync::merged ? merged(call, *source) : synchronised(call, source);
  });
}

}  // namespace tandem::libtorch
