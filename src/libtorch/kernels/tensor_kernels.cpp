// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/kernels/tensor_kernels.hpp"

#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/resize_native.h>
#include <ATen/ops/set_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/DeviceGuard.h>

#include "tandem/runtime/context.hpp"
#include "tandem/runtime/runtime.hpp"

#include "libtorch/device/device_memory.hpp"
#include "libtorch/kernels/host_views.hpp"
#include "libtorch/kernels/kernel_library.hpp"
#include "libtorch/kernels/kernel_scope.hpp"
#include "runtime/copy_times.hpp"

namespace tandem::libtorch {
namespace {

using c10::SymInt;
using c10::SymIntArrayRef;

c10::DispatchKeySet keys() {
  return c10::DispatchKeySet(c10::DispatchKey::PrivateUse1);
}

at::Tensor empty(c10::IntArrayRef size,
                 std::optional<c10::ScalarType> dtype,
                 std::optional<c10::Layout>,
                 std::optional<c10::Device> device,
                 std::optional<bool>,
                 std::optional<c10::MemoryFormat> format) {
  const c10::DeviceGuard guard(c10::device_or_default(device));
  return at::detail::empty_generic(
      size, &device_allocator(), keys(), c10::dtype_or_default(dtype), format);
}

at::Tensor empty_strided(c10::IntArrayRef size,
                         c10::IntArrayRef stride,
                         std::optional<c10::ScalarType> dtype,
                         std::optional<c10::Layout>,
                         std::optional<c10::Device> device,
                         std::optional<bool>) {
  const c10::DeviceGuard guard(c10::device_or_default(device));
  return at::detail::empty_strided_generic(
      size, stride, &device_allocator(), keys(), c10::dtype_or_default(dtype));
}

at::Tensor as_strided(const at::Tensor& x,
                      SymIntArrayRef size,
                      SymIntArrayRef stride,
                      std::optional<SymInt> offset) {
  return at::native::as_strided_tensorimpl(
      x,
      C10_AS_INTARRAYREF_SLOW(size),
      C10_AS_INTARRAYREF_SLOW(stride),
      offset ? std::optional<std::int64_t>(offset->expect_int()) : std::nullopt);
}

const at::Tensor& resize(const at::Tensor& x,
                         SymIntArrayRef size,
                         std::optional<c10::MemoryFormat> format) {
  return at::native::resize_(x, C10_AS_INTARRAYREF_SLOW(size), format);
}

at::Tensor view(const at::Tensor& x, SymIntArrayRef size) {
  return at::native::view(x, C10_AS_INTARRAYREF_SLOW(size));
}

at::Tensor reshape_alias(const at::Tensor& x, SymIntArrayRef size, SymIntArrayRef stride) {
  return at::native::_reshape_alias(
      x, C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride));
}

at::Tensor& set_storage(at::Tensor& x, at::Storage storage) {
  return at::native::set_(x, std::move(storage));
}

at::Tensor& set_tensor(at::Tensor& x, const at::Tensor& other) {
  return at::native::set_tensor_(x, other);
}

at::Tensor& set_storage_offset(
    at::Tensor& x, at::Storage storage, SymInt offset, SymIntArrayRef size, SymIntArrayRef stride) {
  c10::TensorImpl& impl = *x.unsafeGetTensorImpl();
  impl.set_storage_keep_dtype(std::move(storage));
  if (stride.size() == size.size()) {
    impl.set_sizes_and_strides(
        C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride), offset.expect_int());
  } else {  // no strides are given
    impl.set_sizes_contiguous(C10_AS_INTARRAYREF_SLOW(size));
    impl.set_storage_offset(offset.expect_int());
  }
  return x;
}

/// Whether set_data may give one of them the other's memory: torch::nn::Module::to asks.
bool are_compatible(const at::Tensor& a, const at::Tensor& b) {
  const auto is_known = [](const at::Tensor& x) { return is_on_tandem(x) || x.device().is_cpu(); };
  return is_known(a) && is_known(b);
}

void record_stream(at::Tensor&, at::Stream) {}

Device place_of(const at::Tensor& x) {
  return {DeviceType::cpu, is_on_tandem(x) ? x.device().index() : 0};
}

/// Copies, in the memory of the device of `to`.
void copy_values(const at::Tensor& from, const at::Tensor& to) {
  std::optional<HostMemoryOf> memory;  // of what the conversion of a dtype needs
  if (is_on_tandem(to)) memory.emplace(to.device().index());
  at::Tensor target = is_on_tandem(to) ? host_view(to) : to;
  target.copy_(is_on_tandem(from) ? host_view(from) : from);
}

/// In backward, what goes to another device of PyTorch is a gradient: an output's on its way to the
/// replica, or an input's on its way to the host.
Category category_of_copy(const at::Tensor& to) {
  if (context().phase != Phase::backward) return context().category;
  return is_on_tandem(to) ? Category::output_gradient : Category::gradient;
}

/// A copy from one virtual device to another, of which observers are told.
void transfer(const at::Tensor& from, const at::Tensor& to) {
  logical_device(place_of(to)).note_work("copy");
  CopyTimes times{CopyTimes::now(), {}};
  copy_values(from, to);
  times.end = CopyTimes::now();
  if (to.numel() == 0 || Runtime::instance().observers() == nullptr) return;
  if (const Buffer* block = buffer_at(to.storage().data()))
    return count_copy(place_of(from), *block, to.nbytes(), times);
  const Buffer host(
      place_of(to), {.data = to.data_ptr(), .nbytes = to.nbytes()}, category_of_copy(to));
  count_copy(place_of(from), host, to.nbytes(), times);
}

at::Tensor copy_from(const at::Tensor& from, const at::Tensor& to, bool) {
  const BackwardScope scope;
  if (from.device() != to.device() && context().phase == Phase::backward) {
    if (Buffer* block = buffer_at(to.storage().data())) block->recategorise(category_of_copy(to));
  }
  if (place_of(from) != place_of(to)) {
    transfer(from, to);
  } else {
    const KernelScope kernel("copy", place_of(to).index);
    copy_values(from, to);
  }
  return to;
}

at::Tensor copy_from_and_resize(const at::Tensor& from, const at::Tensor& to) {
  to.resize_(from.sizes());
  return copy_from(from, to, false);
}

at::Scalar local_scalar(const at::Tensor& x) {
  return at::_local_scalar_dense(host_view(x));
}

}  // namespace

void register_tensor_kernels() {
  torch::Library& library = kernel_library("aten");
  library.impl("empty.memory_format", empty);
  library.impl("empty_strided", empty_strided);
  library.impl("as_strided", as_strided);
  library.impl("resize_", resize);
  library.impl("view", view);
  library.impl("_reshape_alias", reshape_alias);
  library.impl("set_.source_Storage", set_storage);
  library.impl("set_.source_Tensor", set_tensor);
  library.impl("set_.source_Storage_storage_offset", set_storage_offset);
  library.impl("record_stream", record_stream);
  library.impl("_copy_from", copy_from);
  library.impl("_copy_from_and_resize", copy_from_and_resize);
  library.impl("_local_scalar_dense", local_scalar);
  library.impl("_has_compatible_shallow_copy_type", are_compatible);
  // PyTorch computes a lazy conjugate or negative by a copy, so the copy takes it as it is.
  for (const auto key : {c10::DispatchKey::Conjugate, c10::DispatchKey::Negative})
    kernel_library("aten", key).impl("_copy_from", torch::CppFunction::makeFallthrough());
}

}  // namespace tandem::libtorch
