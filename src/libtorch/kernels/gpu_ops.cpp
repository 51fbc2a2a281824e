// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/kernels/gpu_ops.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/function_schema.h>

#include "tandem/core/check.hpp"
#include "tandem/libtorch/detail/torch_device.hpp"
#include "tandem/runtime/buffer.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/runtime/dispatch.hpp"
#include "tandem/runtime/runtime.hpp"

#include "libtorch/device/backward_context.hpp"
#include "libtorch/gpu/gpu_call.hpp"
#include "libtorch/gpu/own_call.hpp"
#include "libtorch/kernels/kernel_scope.hpp"
#include "runtime/copy_timer.hpp"
#include "runtime/gpu/devices_of_gpu.hpp"

namespace tandem::libtorch {
namespace {

thread_local bool is_observed = false;
thread_local int own_scopes = 0;  // of the calling thread, GpuOps::Threads::calling

enum class Role : std::uint8_t {
  none,  ///< does nothing on a GPU by itself; an op that it calls may
  work,
  copy,  ///< from the second argument to the first
};

bool is_of_tensors(const c10::Argument& argument) {
  const c10::TypeKind kind = argument.type()->kind();
  return kind == c10::TypeKind::TensorType || kind == c10::TypeKind::ListType;
}

/// A view, or one without a new tensor or a written one, is no work, and an empty tensor is none.
Role read_role(const at::RecordFunction& op) {
  const std::string_view name = op.name();
  if (name == "aten::copy_") return Role::copy;
  for (const std::string_view prefix : {"aten::empty", "aten::new_empty", "aten::_to_copy"})
    if (name.starts_with(prefix)) return Role::none;
  const auto schema = op.operator_schema();
  if (!schema) return Role::none;  // a node of the graph, or a part of a program with a name
  const auto writes = [](const c10::Argument& a) {
    return a.alias_info() != nullptr && a.alias_info()->isWrite();
  };
  if (std::ranges::any_of(schema->arguments(), writes)) return Role::work;
  const auto is_new = [](const c10::Argument& a) {
    return a.alias_info() == nullptr && is_of_tensors(a);
  };
  return std::ranges::any_of(schema->returns(), is_new) ? Role::work : Role::none;
}

/// Each overload of an op has a name at an address of its own.
Role role_of(const at::RecordFunction& op) {
  thread_local std::unordered_map<const char*, Role> known;
  const auto found = known.find(op.name());
  if (found != known.end()) return found->second;
  return known.emplace(op.name(), read_role(op)).first->second;
}

std::optional<int> ordinal_of(const at::Tensor& x) {
  if (!x.defined() || !x.is_cuda()) return std::nullopt;
  return x.device().index();
}

/// The GPU that the arguments are on.
std::optional<int> ordinal_of(c10::ArrayRef<const c10::IValue> arguments) {
  for (const c10::IValue& value : arguments) {
    std::optional<int> gpu;
    if (value.isTensor()) gpu = ordinal_of(value.toTensor());
    if (value.isTensorList() && !value.toTensorList().empty())
      gpu = ordinal_of(value.toTensorList().get(0));
    if (gpu) return gpu;
  }
  return std::nullopt;
}

/// An op that no other one calls.
class ObservedOp : public at::ObserverContext {
 public:
  ObservedOp() { is_observed = true; }
  ~ObservedOp() override { is_observed = false; }
  ObservedOp(const ObservedOp&) = delete;
  ObservedOp& operator=(const ObservedOp&) = delete;

 private:
  BackwardScope backward_;
};

class GpuWork final : public ObservedOp {
 public:
  GpuWork(const char* name, LogicalDevice& device)
      : work_{.name = short_name(name)}, scope_(device.stream(), work_) {}

 private:
  Work work_;
  tandem::detail::WorkScope scope_;
};

/// In backward, what goes from one GPU to another is a gradient: an output's on its way to its
/// replica.
Category category_of_copy() {
  const Context& c = context();
  return c.phase == Phase::backward ? Category::output_gradient : c.category;
}

class GpuCopy final : public ObservedOp {
 public:
  GpuCopy(LogicalDevice& source, LogicalDevice& target, const at::Tensor& to)
      : source_(source.device()),
        target_(
            target.device(), {.data = to.data_ptr(), .nbytes = to.nbytes()}, category_of_copy()),
        timer_(source.stream(), target.stream()) {
    target.note_work("copy");
  }
  ~GpuCopy() override { count_copy(source_, target_, target_.nbytes(), timer_.end()); }

 private:
  Device source_;
  Buffer target_;
  CopyTimer timer_;
};

std::unique_ptr<at::ObserverContext> begin_observed(const at::RecordFunction& op) {
  if (is_observed || OwnCall::is_under_way() || Runtime::instance().observers() == nullptr)
    return nullptr;
  const Role role = role_of(op);
  if (role == Role::none) return nullptr;
  const auto gpu = ordinal_of(op.inputs());
  if (!gpu) return nullptr;
  if (role == Role::copy) {
    const at::Tensor& to = op.inputs()[0].toTensor();
    const auto source = ordinal_of(op.inputs()[1].toTensor());
    if (source && to.is_cuda() && *source != *gpu && to.numel() > 0)
      return std::make_unique<GpuCopy>(device_on_gpu(*source), device_on_gpu(*gpu), to);
  }
  return std::make_unique<GpuWork>(op.name(), device_on_gpu(*gpu));
}

/// PyTorch calls what is for all threads first; a replica's own scope knows the op's name by then.
std::unique_ptr<at::ObserverContext> begin_anywhere(const at::RecordFunction& op) {
  return own_scopes > 0 ? nullptr : begin_observed(op);
}

/// An error in a callback would be lost: so it comes before.
void check_told_apart() {
  for (const LogicalDevice* d : Runtime::instance().made(DeviceType::cuda)) {
    const std::vector<LogicalDevice*> all = devices_of_gpu(d->gpu()->ordinal());
    TANDEM_CHECK(all.size() == 1,
                 all.front()->device(),
                 " and ",
                 all.back()->device(),
                 " are devices of GPU ",
                 d->gpu()->ordinal(),
                 ", whose work PyTorch does not tell apart: it is not recorded; give each a GPU");
  }
}

at::RecordFunctionCallback callback(at::RecordFunctionCallback::StartCallback start) {
  return at::RecordFunctionCallback(start).needsInputs(true).scopes({at::RecordScope::FUNCTION});
}

}  // namespace

LogicalDevice& device_on_gpu(int ordinal) {
  return logical_device(tandem_device(gpu_of(ordinal)));
}

GpuOps::GpuOps(Threads threads) : threads_(threads) {
  if (Runtime::instance().observers() == nullptr) return;
  check_told_apart();
  if (threads == Threads::all) {
    handle_ = at::addGlobalCallback(callback(&begin_anywhere));
  } else {
    handle_ = at::addThreadLocalCallback(callback(&begin_observed));
    ++own_scopes;
  }
}

GpuOps::~GpuOps() {
  if (handle_ == at::INVALID_CALLBACK_HANDLE) return;
  at::removeCallback(handle_);
  if (threads_ == Threads::calling) --own_scopes;
}

}  // namespace tandem::libtorch
