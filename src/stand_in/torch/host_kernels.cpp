// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/LegacyTypeDispatch.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "stand_in/torch/boxed_values.hpp"
#include "stand_in/torch/families.hpp"
#include "stand_in/torch/op_call.hpp"

namespace tandem::stand_in {
namespace {

bool is_one_of(std::string_view op, std::initializer_list<std::string_view> ops) {
  return std::ranges::find(ops, op) != ops.end();
}

bool takes_host_tensors(std::string_view op) {
  return is_one_of(op, {"index", "index_put", "index_put_", "_index_put_impl_", "_unsafe_index"});
}

/// The host waits for the GPU, to know how large the result is.
bool waits(std::string_view op) {
  return is_one_of(op,
                   {"nonzero",
                    "masked_select",
                    "_unique",
                    "_unique2",
                    "unique_dim",
                    "unique_consecutive",
                    "unique_dim_consecutive",
                    "bincount",
                    "repeat_interleave",
                    "histc",
                    "_linalg_check_errors"});
}

/// PyTorch's own function for GPUs, which launches no kernel.
bool stays(std::string_view op) {
  return is_one_of(op,
                   {"_efficientzerotensor",
                    "_fused_sdp_choice",
                    "_has_compatible_shallow_copy_type",
                    "_local_scalar_dense",
                    "_pin_memory",
                    "_reshape_alias",
                    "_unsafe_view",
                    "alias",
                    "as_strided",
                    "as_strided_",
                    "copy_",
                    "empty",
                    "empty_strided",
                    "is_pinned",
                    "permute",
                    "record_stream",
                    "resize_",
                    "set_",
                    "squeeze",
                    "transpose",
                    "unfold",
                    "view",
                    "view.dtype",
                    "view_as_complex",
                    "view_as_real"});
}

/// The same of a sparse tensor: its parts are taken, put or copied.
bool stays_sparse(std::string_view op) {
  return is_one_of(op,
                   {"_coalesced_",
                    "_dimI",
                    "_dimV",
                    "_indices",
                    "_nnz",
                    "_sparse_coo_tensor_with_dims",
                    "_sparse_coo_tensor_with_dims_and_tensors",
                    "_values",
                    "clone",
                    "copy_sparse_to_sparse_",
                    "dense_dim",
                    "empty",
                    "indices",
                    "is_coalesced",
                    "sparse_dim",
                    "sparse_resize_",
                    "sparse_resize_and_clear_",
                    "values"});
}

/// One op, by the kernel that the host has for it.
class HostKernel : public c10::OperatorKernel {
 public:
  explicit HostKernel(const c10::FunctionSchema& schema)
      : name_(*new std::string(schema.name())),
        host_(takes_host_tensors(short_name()) ? HostTensors::taken : HostTensors::refused),
        waits_(waits(short_name())),
        returns_(schema.returns().size()) {
    for (const c10::Argument& argument : schema.arguments()) {
      const bool is_running = argument.name().starts_with("running_");
      if (argument.name() == "training" || argument.name() == "train")
        training_ = arguments_.size();
      arguments_.push_back({is_written(argument), is_generator(argument), is_running});
    }
    for (const c10::Argument& result : schema.returns())
      returns_tensors_ |= result.type()->kind() == c10::TypeKind::TensorType ||
                          result.type()->kind() == c10::TypeKind::ListType;
  }

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) {
    OpCall call(name_.c_str(), host_);
    take_arguments(call, *stack);
    {
      const at::AutoDispatchBelowADInplaceOrView below;
      const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
      op.callBoxed(*stack);
    }
    call.take_resized();
    if (short_name().starts_with("_foreach_")) call.count_writes();
    for (std::size_t i = stack->size() - returns_; i < stack->size(); ++i)
      replace_tensors((*stack)[i], [&](const at::Tensor& x) { return call.to_gpu(x); });
    if (waits_ || call.has_mask() || (returns_ > 0 && !returns_tensors_)) call.reach();
  }

 private:
  struct Argument {
    bool writes, is_generator, is_running;  // statistics, which schemas do not mark as written
  };

  std::string_view short_name() const { return std::string_view(name_).substr(6); }

  void take_arguments(OpCall& call, torch::jit::Stack& stack) const {
    const std::size_t first = stack.size() - arguments_.size();
    const bool trains =
        !training_ || !stack[first + *training_].isBool() || stack[first + *training_].toBool();
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      c10::IValue& value = stack[first + i];
      const bool writes = arguments_[i].writes || (arguments_[i].is_running && trains);
      replace_tensors(value, [&](const at::Tensor& x) { return call.to_host(x, writes); });
      if (!value.isDevice() || !value.toDevice().is_cuda()) continue;
      if (value.toDevice().has_index()) call.set_device(value.toDevice());
      value = c10::Device(at::kCPU);
    }
    call.begin();
    for (std::size_t i = 0; i < arguments_.size(); ++i)
      if (arguments_[i].is_generator)
        stack[first + i] = host_generator(stack[first + i], call.gpu());
  }

  const std::string& name_;
  HostTensors host_;
  bool waits_, returns_tensors_ = false;
  std::size_t returns_;
  std::optional<std::size_t> training_;  // the argument that says so
  std::vector<Argument> arguments_;
};

/// Whether the host does it: by a kernel, or as a composition of ops that has no device.
bool is_done_by_host(const c10::OperatorHandle& op) {
  using c10::DispatchKey;
  return op.hasKernelForDispatchKey(DispatchKey::CPU) ||
         op.hasKernelForDispatchKey(DispatchKey::CompositeExplicitAutograd) ||
         op.hasKernelForDispatchKey(DispatchKey::CompositeExplicitAutogradNonFunctional) ||
         op.hasKernelForDispatchKey(DispatchKey::CompositeImplicitAutograd);
}

torch::CppFunction kernel_of(const c10::OperatorHandle& op) {
  return torch::CppFunction::makeFromBoxedFunctor(std::make_unique<HostKernel>(op.schema()));
}

}  // namespace

void register_host_kernels(torch::Library& gpu) {
  for (const c10::OperatorName& name : c10::Dispatcher::singleton().getAllOpNames()) {
    if (!name.name.starts_with("aten::") || stays(name.name.substr(6))) continue;
    const auto op = c10::Dispatcher::singleton().findOp(name);
    if (!op || !op->hasSchema() || !is_done_by_host(*op)) continue;
    const bool chooses_inside = name.name == "aten::convolution";  // by the kind of device
    if (op->hasKernelForDispatchKey(c10::DispatchKey::CUDA) || chooses_inside)
      gpu.impl(toString(name).c_str(), kernel_of(*op));
  }
}

void register_sparse_kernels(torch::Library& gpu) {
  for (const c10::OperatorName& name : c10::Dispatcher::singleton().getAllOpNames()) {
    if (!name.name.starts_with("aten::") || stays_sparse(name.name.substr(6))) continue;
    const auto op = c10::Dispatcher::singleton().findOp(name);
    if (op && op->hasSchema() && op->hasKernelForDispatchKey(c10::DispatchKey::SparseCUDA) &&
        op->hasKernelForDispatchKey(c10::DispatchKey::SparseCPU))
      gpu.impl(toString(name).c_str(), kernel_of(*op));
  }
}

}  // namespace tandem::stand_in
