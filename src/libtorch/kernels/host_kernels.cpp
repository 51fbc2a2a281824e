// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/kernels/host_kernels.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "libtorch/device/device_hooks.hpp"
#include "libtorch/device/device_memory.hpp"
#include "libtorch/kernels/host_views.hpp"
#include "libtorch/kernels/kernel_library.hpp"
#include "libtorch/kernels/kernel_scope.hpp"
#include "libtorch/kernels/op_arguments.hpp"

namespace tandem::libtorch {
namespace {

bool is_generator(const c10::Argument& argument) {
  const c10::TypePtr& type = argument.type();
  if (type->kind() == c10::TypeKind::GeneratorType) return true;
  const auto optional = type->cast<c10::OptionalType>();
  return optional != nullptr && optional->getElementType()->kind() == c10::TypeKind::GeneratorType;
}

/// Whether an op takes tensors of the host beside those of a device, as between a GPU and the host:
/// indices are moved.
bool takes_host_tensors(std::string_view op) {
  constexpr std::array<std::string_view, 6> kOps{
      "index", "index_put", "index_put_", "_index_put_impl_", "_unsafe_index", "_unsafe_index_put"};
  return std::ranges::find(kOps, op) != kOps.end();
}

void run_on_host(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const auto& arguments = op.schema().arguments();
  const std::size_t begin = stack->size() - arguments.size();
  const char* const name = short_name(op.schema().name().c_str());
  HostViews views(takes_host_tensors(name) ? HostViews::HostTensors::taken
                                           : HostViews::HostTensors::refused);
  for (std::size_t i = begin; i < stack->size(); ++i) {
    c10::IValue& value = (*stack)[i];
    replace_tensors(value, [&](const at::Tensor& x) { return views.to_host(x); });
    if (value.isDevice() && value.toDevice().is_privateuseone()) {
      if (value.toDevice().has_index()) views.set_device(value.toDevice());
      value = c10::Device(at::kCPU);
    }
  }
  if (!views.device())
    views.set_device({at::kPrivateUse1, static_cast<c10::DeviceIndex>(current_device())});
  const int device = views.device()->index();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    c10::IValue& value = (*stack)[begin + i];
    if (value.isNone() && is_generator(arguments[i])) value = generator_of(device);
  }
  {
    const HostKernelScope kernel(name, device);
    op.callBoxed(*stack);
  }
  views.take_resized();
  const std::size_t first = stack->size() - op.schema().returns().size();
  for (std::size_t i = first; i < stack->size(); ++i)
    replace_tensors((*stack)[i], [&](const at::Tensor& x) { return views.to_device(x); });
}

/// Whether the host has a kernel for an op that PyTorch composes of others for devices without
/// one: of the variant that writes into a given output, whose size it then changes, with a warning
/// for some; or of several ops, as for a layer norm. The fallback alone would not be asked.
bool is_composed_elsewhere(const c10::OperatorName& op) {
  const auto handle = c10::Dispatcher::singleton().findOp(op);
  if (!op.name.starts_with("aten::") || !handle || !handle->hasSchema()) return false;
  const auto has = [&](c10::DispatchKey key) { return handle->hasKernelForDispatchKey(key); };
  if (!has(c10::DispatchKey::CPU) || has(c10::DispatchKey::PrivateUse1)) return false;
  return has(c10::DispatchKey::CompositeExplicitAutograd) ||
         has(c10::DispatchKey::CompositeExplicitAutogradNonFunctional) ||
         has(c10::DispatchKey::CompositeImplicitAutograd);
}

}  // namespace

void register_host_kernels() {
  constexpr auto kAutograd = c10::DispatchKey::AutogradPrivateUse1;
  if (!c10::Dispatcher::singleton().hasBackendFallbackForDispatchKey(kAutograd))  // older PyTorch
    kernel_library("_", kAutograd).fallback(torch::CppFunction::makeFallthrough());
  kernel_library("_").fallback(torch::CppFunction::makeFromBoxedFunction<&run_on_host>());
  torch::Library& aten = kernel_library("aten");
  for (const c10::OperatorName& op : c10::Dispatcher::singleton().getAllOpNames())
    if (is_composed_elsewhere(op))
      aten.impl(toString(op).c_str(), torch::CppFunction::makeFromBoxedFunction<&run_on_host>());
}

}  // namespace tandem::libtorch
