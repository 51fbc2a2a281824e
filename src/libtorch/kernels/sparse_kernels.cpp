// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/kernels/sparse_kernels.hpp"

#include <optional>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/SparseTensorImpl.h>
#include <ATen/ops/_coalesced_native.h>
#include <ATen/ops/_indices_native.h>
#include <ATen/ops/_nnz_native.h>
#include <ATen/ops/_sparse_coo_tensor_with_dims_and_tensors_native.h>
#include <ATen/ops/_sparse_coo_tensor_with_dims_native.h>
#include <ATen/ops/_to_dense_native.h>
#include <ATen/ops/_values_native.h>
#include <ATen/ops/clone_native.h>
#include <ATen/ops/copy_native.h>
#include <ATen/ops/copy_sparse_to_sparse_native.h>
#include <ATen/ops/dense_dim_native.h>
#include <ATen/ops/empty_like_native.h>
#include <ATen/ops/empty_native.h>
#include <ATen/ops/indices_native.h>
#include <ATen/ops/is_coalesced_native.h>
#include <ATen/ops/sparse_dim_native.h>
#include <ATen/ops/sparse_resize_and_clear_native.h>
#include <ATen/ops/sparse_resize_native.h>
#include <ATen/ops/values_native.h>
#include <ATen/ops/zero_native.h>
#include <c10/core/DeviceGuard.h>

#include "libtorch/kernels/host_views.hpp"
#include "libtorch/kernels/kernel_library.hpp"
#include "libtorch/kernels/kernel_scope.hpp"
#include "libtorch/kernels/op_arguments.hpp"

namespace tandem::libtorch {
namespace {

/// The tensors of one call of an op that has sparse tensors of a device among its arguments.
class SparseViews {
 public:
  at::Tensor to_host(const at::Tensor& x) {
    if (!is_on_tandem(x) || !x.is_sparse()) return views_.to_host(x);
    for (const Pair& pair : pairs_)
      if (pair.device.is_same(x)) return pair.host;
    const at::Tensor indices = views_.to_host(x._indices()), values = views_.to_host(x._values());
    pairs_.push_back({x, sparse_over(indices, values, x)});
    return pairs_.back().host;
  }
  at::Tensor to_device(const at::Tensor& x) const {
    for (const Pair& pair : pairs_)
      if (pair.host.is_same(x)) return pair.device;
    return views_.to_device(x);
  }
  /// After the kernel: an argument has what the kernel has written into its view.
  void take_written() const {
    views_.take_resized();
    for (const auto& [device, host] : pairs_) {
      auto& impl = static_cast<at::SparseTensorImpl&>(*device.unsafeGetTensorImpl());
      impl.resize_(host.sparse_dim(), host.dense_dim(), host.sizes());
      impl.set_indices_and_values_unsafe(views_.to_device(host._indices()),
                                         views_.to_device(host._values()));
      impl.set_coalesced(host.is_coalesced());
    }
  }
  int device() const { return views_.device()->index(); }

 private:
  struct Pair {
    at::Tensor device, host;
  };
  std::vector<Pair> pairs_;
  HostViews views_;
};

/// What computes runs on the host's kernels for sparse tensors.
void run_sparse(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const std::size_t begin = stack->size() - op.schema().arguments().size();
  SparseViews views;
  for (std::size_t i = begin; i < stack->size(); ++i) {
    c10::IValue& value = (*stack)[i];
    replace_tensors(value, [&](const at::Tensor& x) { return views.to_host(x); });
    if (value.isDevice() && value.toDevice().is_privateuseone()) value = c10::Device(at::kCPU);
  }
  {
    const HostKernelScope kernel(short_name(op.schema().name().c_str()), views.device());
    op.callBoxed(*stack);
  }
  views.take_written();
  for (std::size_t i = stack->size() - op.schema().returns().size(); i < stack->size(); ++i)
    replace_tensors((*stack)[i], [&](const at::Tensor& x) { return views.to_device(x); });
}

void add_device(std::optional<c10::Device>& device, const std::optional<c10::Device>& asked) {
  if (!device && asked && asked->has_index()) device = asked;
}
void add_device(std::optional<c10::Device>& device, const at::Tensor& x) {
  if (!device && is_on_tandem(x)) device = x.device();
}
template <class Other>
void add_device(std::optional<c10::Device>&, const Other&) {}

/// A function of PyTorch, called with the device of its arguments as the current one: it makes the
/// parts of new tensors there.
template <auto kFunction, class Signature = decltype(kFunction)>
struct OnItsDevice;
template <auto kFunction, class Result, class... Args>
struct OnItsDevice<kFunction, Result (*)(Args...)> {
  static Result call(Args... args) {
    std::optional<c10::Device> device;
    (add_device(device, args), ...);
    const c10::OptionalDeviceGuard guard(device);
    return kFunction(args...);
  }
};

/// PyTorch's own code for the parts of a sparse tensor, which is the same for all devices.
void register_structure(torch::Library& library) {
  namespace native = at::native;
  library.impl("_sparse_coo_tensor_with_dims", OnItsDevice<native::new_with_dims_sparse>::call);
  library.impl("_sparse_coo_tensor_with_dims_and_tensors",
               OnItsDevice<native::new_with_dims_and_tensor_sparse_symint>::call);
  library.impl("empty.memory_format", OnItsDevice<native::empty_sparse_symint>::call);
  library.impl("empty_like", OnItsDevice<native::empty_like_sparse_coo>::call);
  library.impl("sparse_resize_", OnItsDevice<native::sparse_resize_>::call);
  library.impl("sparse_resize_and_clear_", OnItsDevice<native::sparse_resize_and_clear_>::call);
  library.impl("sparse_dim", OnItsDevice<native::sparse_dim_sparse>::call);
  library.impl("dense_dim", OnItsDevice<native::dense_dim_sparse>::call);
  library.impl("_nnz", OnItsDevice<native::_nnz_sparse>::call);
  library.impl("is_coalesced", OnItsDevice<native::is_coalesced_sparse>::call);
  library.impl("_coalesced_", OnItsDevice<native::_coalesced_sparse_>::call);
  library.impl("_indices", OnItsDevice<native::_indices_sparse>::call);
  library.impl("_values", OnItsDevice<native::_values_sparse>::call);
  library.impl("indices", OnItsDevice<native::indices_sparse>::call);
  library.impl("values", OnItsDevice<native::values_sparse>::call);
  library.impl("clone", OnItsDevice<native::clone_sparse>::call);
  library.impl("copy_", OnItsDevice<native::copy_sparse_wrapper_>::call);
  library.impl("copy_sparse_to_sparse_", OnItsDevice<native::copy_sparse_>::call);
  library.impl("zero_", OnItsDevice<native::zero_sparse_>::call);
  library.impl("_to_dense", OnItsDevice<native::sparse_to_dense>::call);
}

}  // namespace

void register_sparse_kernels() {
  constexpr auto kKey = c10::DispatchKey::SparsePrivateUse1;
  kernel_library("_", kKey).fallback(torch::CppFunction::makeFromBoxedFunction<&run_sparse>());
  register_structure(kernel_library("aten", kKey));
}

}  // namespace tandem::libtorch
