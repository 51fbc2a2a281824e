// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/graph/replica_kernels.hpp"

#include <array>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include <ATen/ATen.h>
#include <ATen/ops/batch_norm_native.h>
#include <ATen/ops/dropout_native.h>
#include <ATen/ops/instance_norm_native.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/function.h>

#include "tandem/autograd/row_group.hpp"
#include "tandem/core/check.hpp"
#include "tandem/libtorch/detail/torch_device.hpp"
#include "tandem/libtorch/exchange.hpp"
#include "tandem/ops/batch_norm.hpp"
#include "tandem/ops/dropout.hpp"
#include "tandem/runtime/context.hpp"

#include "libtorch/device/backward_context.hpp"
#include "libtorch/graph/group_batch_norm.hpp"
#include "libtorch/graph/row_dropout.hpp"
#include "libtorch/graph/tape_function.hpp"
#include "libtorch/kernels/kernel_library.hpp"
#include "libtorch/modules/backward_meetings.hpp"
#include "libtorch/modules/replica_scope.hpp"
#include "libtorch/modules/shared_means.hpp"
#include "nn/running_statistics.hpp"

namespace tandem::libtorch {
namespace {

using MaybeTensor = std::optional<at::Tensor>;

thread_local bool in_instance_norm = false;  // which calls batch_norm for its own purposes

at::Tensor or_undefined(const MaybeTensor& x) {
  return x.value_or(at::Tensor());
}

/// The scope of the replica that `x` belongs to; null: PyTorch's op is wanted.
const ReplicaScope* replica_of(const at::Tensor& x) {
  const ReplicaScope* scope = ReplicaScope::find();
  const bool is_there = scope != nullptr && x.device() == torch_device(scope->source()->device());
  return is_there ? scope : nullptr;
}

/// A copy of running statistics for the graph, since a later forward writes to them, and is
/// counted. They get the copy's values at the end: a recomputation leaves the op by an exception
/// once the graph has what it needs.
class CopiedStatistics {
 public:
  explicit CopiedStatistics(const at::Tensor& x)
      : x_(x), copy_(x.defined() ? x.detach().clone() : at::Tensor()) {}
  /// @throws c10::Error  a GPU failed, and no other exception is under way.
  ~CopiedStatistics() noexcept(false) {
    if (!x_.defined()) return;
    if (x_.is_cpu() || x_.is_privateuseone()) {
      std::memcpy(x_.mutable_data_ptr(), copy_.const_data_ptr(), copy_.nbytes());
      return;
    }
    try {
      x_.tensor_data().copy_(copy_);  // which counts no write of x_
    } catch (...) {
      if (std::uncaught_exceptions() == exceptions_) throw;
    }
  }
  CopiedStatistics(const CopiedStatistics&) = delete;
  CopiedStatistics& operator=(const CopiedStatistics&) = delete;
  const at::Tensor& copy() const noexcept { return copy_; }

 private:
  at::Tensor x_, copy_;
  int exceptions_ = std::uncaught_exceptions();  // under way at the beginning
};

at::Tensor of_own_rows(const BatchNormCall& c) {
  TORCH_CHECK_VALUE(c.x.numel() != c.x.size(1),
                    "Expected more than 1 value per channel when training, got input size ",
                    c.x.sizes());
  const CopiedStatistics mean(c.running_mean), var(c.running_var);
  return at::native::batch_norm(c.x,
                                c.weight,
                                c.bias,
                                mean.copy(),
                                var.copy(),
                                /*training=*/true,
                                c.momentum,
                                c.eps,
                                c.cudnn);
}

at::Tensor of_all_rows(const BatchNormCall& c, BatchNormSync sync) {
  if (c.x.is_cuda()) return batch_norm_of_group(c, sync);
  const at::Tensor& typed = c.weight.defined() ? c.weight : c.running_mean;
  const at::ScalarType dtype = typed.defined() ? typed.scalar_type() : c.x.scalar_type();
  const auto is_new = std::make_shared<bool>(c.running_mean.defined());
  // Within the function, since a recomputation ends when the graph has what it needs.
  const TapeFunction normalise = [is_new,
                                  sync,
                                  mean = c.running_mean,
                                  var = c.running_var,
                                  momentum = c.momentum,
                                  eps = c.eps](const std::vector<Tensor>& in) {
    auto [y, statistics] = batch_norm(in[0], in[1], in[2], eps, sync);
    if (std::exchange(*is_new, false)) {
      nn::RunningStatistics running{from_torch(mean), from_torch(var), {}};
      running.update(statistics, momentum, sync);
    }
    return std::vector<Tensor>{std::move(y)};
  };
  const at::Tensor y =
      run_on_tape("SynchronisedBatchNorm", Meets::yes, normalise, {c.x.to(dtype), c.weight, c.bias})
          .front();
  return y.to(c.x.scalar_type());
}

/// Counts a batch. @return  the share of its statistics in the running ones
double track(const BatchNorms::Training& norm) {
  const RunningState& running = norm.running;
  const at::NoGradGuard off;
  if (running.batches.defined()) at::Tensor(running.batches).add_(1);
  if (running.momentum) return *running.momentum;
  return running.batches.defined() ? 1 / running.batches.item<double>() : 0;
}

/// A re-entrant checkpoint computes again in a node of a backward that no call has begun. Its own
/// backward there ends at the parameters, on the first device's thread, which may wait for it in
/// the next batch norm.
void check_not_in_reentrant_checkpoint() {
  const auto node = torch::autograd::get_current_node();
  TANDEM_CHECK(
      node == nullptr || node->name() != "CheckpointFunctionBackward",
      "batch_norm: a checkpoint with use_reentrant=True computes it again in a backward of the "
      "wrapper's outputs, in which replicas that share the statistics of the whole batch would "
      "wait for each other for ever; give the checkpoint use_reentrant=False, or the wrapper "
      "batch_norm=\"per_replica\", or let step compute the loss");
}

/// A checkpoint that keeps no state of generators does not say where in which forward it computes
/// again.
void check_place_is_known(const at::Tensor& running_mean) {
  TANDEM_CHECK(torch::autograd::get_current_graph_task_id() < 0 || !running_mean.defined() ||
                   !SharedMeans::get().has(running_mean),
               "batch_norm: a checkpoint with preserve_rng_state=False computes it again in "
               "backward, where the rows of the other replicas are not known, but its statistics "
               "are those of the whole batch; leave preserve_rng_state at True, or give the "
               "wrapper batch_norm=\"per_replica\"");
}

at::Tensor replica_batch_norm(const at::Tensor& x,
                              const MaybeTensor& weight,
                              const MaybeTensor& bias,
                              const MaybeTensor& running_mean,
                              const MaybeTensor& running_var,
                              bool training,
                              double momentum,
                              double eps,
                              bool cudnn) {
  const ReplicaScope* const scope = in_instance_norm ? nullptr : replica_of(x);
  const BatchNorms::Training* const norm =
      scope == nullptr ? nullptr : scope->batch_norms().find(or_undefined(running_mean));
  if (scope == nullptr || (!training && norm == nullptr)) {
    if (training && !in_instance_norm) check_place_is_known(or_undefined(running_mean));
    return at::native::batch_norm(
        x, weight, bias, running_mean, running_var, training, momentum, eps, cudnn);
  }
  const BatchNormCall call{x,
                           or_undefined(weight),
                           or_undefined(bias),
                           or_undefined(running_mean),
                           or_undefined(running_var),
                           norm == nullptr ? momentum : track(*norm),
                           eps,
                           cudnn};
  const BatchNormSync sync = norm == nullptr ? scope->batch_norms().fallback() : norm->sync;
  const auto& group = current_row_group();
  const bool alone = group == nullptr || group->size() < 2;
  if (call.running_mean.defined())
    SharedMeans::get().note(call.running_mean, !alone && sync != BatchNormSync::per_replica);
  if (alone || sync == BatchNormSync::per_replica) return of_own_rows(call);
  if (!is_backward_outside_of_calls()) return of_all_rows(call, sync);
  check_not_in_reentrant_checkpoint();
  return scope->source()->ops().meetings->visit(group, [&] { return of_all_rows(call, sync); });
}

at::Tensor replica_instance_norm(const at::Tensor& x,
                                 const MaybeTensor& weight,
                                 const MaybeTensor& bias,
                                 const MaybeTensor& running_mean,
                                 const MaybeTensor& running_var,
                                 bool use_input_stats,
                                 double momentum,
                                 double eps,
                                 bool cudnn) {
  struct Scope {
    bool before = std::exchange(in_instance_norm, true);
    ~Scope() { in_instance_norm = before; }
  } const scope;
  return at::native::instance_norm(
      x, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, cudnn);
}

/// Whether the mask goes by rows. At the probabilities 0 and 1 there is nothing to draw.
bool draws_by_row(const at::Tensor& x, double p, bool train) {
  const ReplicaScope* const scope = replica_of(x);
  return scope != nullptr && scope->dropout() == DropoutMask::by_row && train && p > 0 && p < 1 &&
         x.is_floating_point() && x.dim() > 0;
}

at::Tensor dropout_by_row(const at::Tensor& x, double p) {
  if (x.is_cuda()) return row_dropout(x, p);
  return run_on_tape("DropoutByRow",
                     Meets::no,
                     [p](const std::vector<Tensor>& in) {
                       return std::vector<Tensor>{tandem::dropout(in[0], p)};
                     },
                     {x})
      .front();
}

at::Tensor replica_dropout(const at::Tensor& x, double p, bool train) {
  return draws_by_row(x, p, train) ? dropout_by_row(x, p) : at::native::dropout(x, p, train);
}

at::Tensor& replica_dropout_(at::Tensor& x, double p, bool train) {
  if (!draws_by_row(x, p, train)) return at::native::dropout_(x, p, train);
  return x.mul_(dropout_by_row(at::ones_like(x), p));  // `x` is not there for backward any more
}

}  // namespace

void register_replica_kernels(c10::DeviceType type) {
  const bool is_virtual = type == c10::DeviceType::PrivateUse1;
  const std::array keys{
      is_virtual ? c10::DispatchKey::AutogradPrivateUse1 : c10::DispatchKey::AutogradCUDA,
      is_virtual ? c10::DispatchKey::PrivateUse1 : c10::DispatchKey::CUDA};
  for (const auto key : keys) {
    torch::Library& library = kernel_library("aten", key);
    library.impl("batch_norm", &replica_batch_norm);
    library.impl("instance_norm", &replica_instance_norm);
    library.impl("dropout", &replica_dropout);
    library.impl("dropout_", &replica_dropout_);
  }
}

}  // namespace tandem::libtorch
