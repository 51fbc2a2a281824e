// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/libtorch/detail/replica_loss.hpp"

#include <memory>
#include <span>
#include <string>

#include <ATen/ATen.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/autograd/autograd.h>

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/check.hpp"
#include "tandem/libtorch/detail/torch_device.hpp"
#include "tandem/libtorch/exchange.hpp"
#include "tandem/tensor/factories.hpp"

#include "libtorch/device/backward_context.hpp"
#include "libtorch/device/device_memory.hpp"
#include "libtorch/device/interpreter.hpp"
#include "libtorch/modules/replica_scope.hpp"

// A replica's loss is one op of tandem's tape. Its backward runs PyTorch's engine, and hands every
// gradient that this makes to the parameter at once (GradientSink), as a backward of tandem would.
// So buckets, reductions, scaled losses, micro-batches and failures are tandem's, and none of it is
// written twice.
namespace tandem::libtorch::detail {
namespace {

std::string describe_loss(const at::Tensor& x) {
  return x.defined() ? tandem::detail::concat(
                           x.toString(), " of ", x.numel(), " elements on ", x.device().str())
                     : "an undefined tensor";
}

/// A scalar of tandem's as a gradient of `sum`, where that is.
at::Tensor as_gradient_of(const at::Tensor& sum, const Tensor& dy) {
  return to_torch(dy.detach(), sum.device()).to(sum.scalar_type()).view(sum.sizes());
}

void backward(TorchSource& source, const at::Tensor& sum, const Tensor& dy) {
  source.sink().begin(sum.grad_fn().get());
  try {
    const CarriedContext carried;
    // Its ops have the dtypes of the forward's, as after a forward under autocast.
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    torch::autograd::backward({sum}, {as_gradient_of(sum, dy)});
  } catch (const c10::OutOfMemoryError& e) {
    throw_out_of_memory(source.device(), e);
  } catch (...) {
    if (const Interpreter* const python = Interpreter::get()) python->forget_exception();
    source.stopped().rethrow();
    throw;
  }
  source.sink().end();
}

/// The loss on tandem's tape, whose backward is PyTorch's.
Tensor record(const at::Tensor& sum) {
  const std::shared_ptr<TorchSource>& source = ReplicaScope::current().source();
  TANDEM_CHECK(sum.defined() && sum.numel() == 1,
               "step: the loss must be a scalar, got ",
               describe_loss(sum),
               "; return its sum or mean");
  TANDEM_CHECK(sum.device() == torch_device(source->device()),
               "step: the loss is on ",
               sum.device().str(),
               ", but the replica is on ",
               torch_device(source->device()).str(),
               "; compute it from the replica's outputs and its part of the batch");
  TANDEM_CHECK(sum.requires_grad(),
               "step: the loss has no graph to go back through; does forward detach its result, or "
               "are all parameters frozen?");
  const auto type = sum.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const Tensor value =
      from_torch(sum.detach().reshape(at::IntArrayRef()).to(type), source->device());
  Tensor leaf = value.detach();
  leaf.requires_grad_();
  return autograd::record(
      "pytorch", value, {leaf}, autograd::Formula([source, sum](const Tensor& dy) {
        backward(*source, sum, dy);
        return autograd::Gradients(1);
      }));
}

}  // namespace

WeightedSum record_loss(const at::Tensor& sum, double weight) {
  const Device device = ReplicaScope::current().source()->device();
  // The host asks for it at once: a GPU would only give it back, after its forward.
  if (device.type == DeviceType::cuda)
    return {record(sum), from_host(std::span<const double>(&weight, 1), {}, Device{})};
  return {record(sum), scalar(weight, {.dtype = DType::f64, .device = device})};
}

WeightedSum record_loss(const at::Tensor& sum, const std::optional<at::Tensor>& weight) {
  if (!weight) return {record(sum), {}};
  TANDEM_CHECK(weight->defined() && weight->numel() == 1,
               "step: the weight of a loss must be a scalar, got ",
               describe_loss(*weight));
  if (weight->is_cpu()) return record_loss(sum, weight->item<double>());
  const Device device = ReplicaScope::current().source()->device();
  const at::Tensor here = weight->detach().to(torch_device(device), at::kDouble);
  return {record(sum), from_torch(here.reshape(at::IntArrayRef()), device)};
}

WeightedSum record_mean_loss(const at::Tensor& mean, RowRange rows) {
  const auto n = static_cast<double>(rows.size());
  return record_loss(mean.defined() ? mean * n : mean, std::nullopt);
}

}  // namespace tandem::libtorch::detail
