// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/kernels/host_views.hpp"

#include <utility>

#include <ATen/ATen.h>

#include "libtorch/device/device_memory.hpp"

namespace tandem::libtorch {
namespace {

c10::DispatchKeySet key(c10::DispatchKey k) {
  return c10::DispatchKeySet(k);
}

/// A tensor of the device over `storage`, of the shape of `x`.
at::Tensor over(const c10::Storage& storage, const at::Tensor& x) {
  at::Tensor y = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(storage), key(c10::DispatchKey::PrivateUse1), x.dtype());
  y.unsafeGetTensorImpl()->set_sizes_and_strides(x.sizes(), x.strides(), x.storage_offset());
  return y;
}

/// A tensor of the host over `data`, of the shape of `x`.
at::Tensor host_tensor(const at::Tensor& x, c10::DataPtr data) {
  at::Tensor y =
      at::detail::make_tensor<c10::TensorImpl>(c10::Storage(c10::Storage::use_byte_size_t(),
                                                            x.storage().nbytes(),
                                                            std::move(data),
                                                            &host_allocator(),
                                                            /*resizable=*/true),
                                               key(c10::DispatchKey::CPU),
                                               x.dtype());
  c10::TensorImpl& impl = *y.unsafeGetTensorImpl();
  impl.set_sizes_and_strides(x.sizes(), x.strides(), x.storage_offset());
  if (x.unsafeGetTensorImpl()->is_wrapped_number()) impl.set_wrapped_number(true);
  if (x.is_conj()) y._set_conj(true);
  if (x.is_neg()) y._set_neg(true);
  return y;
}

[[noreturn]] void refuse(c10::Device one, c10::Device other) {
  TORCH_CHECK(false,
              "Expected all tensors to be on the same device, but found at least two devices, ",
              one,
              " and ",
              other,
              "!");
}

/// Takes the memory out of a host tensor.
c10::DataPtr taken(const at::Tensor& x, c10::Device device) {
  c10::DataPtr data = x.storage().set_data_ptr(c10::DataPtr(nullptr, c10::Device(at::kCPU)));
  data.unsafe_set_device(device);
  return data;
}

}  // namespace

bool is_on_tandem(const at::Tensor& x) {
  return x.defined() && x.device().is_privateuseone();
}

at::Tensor host_view(const at::Tensor& x) {
  return host_tensor(x, c10::DataPtr(x.storage().mutable_data(), c10::Device(at::kCPU)));
}

at::Tensor host_alias(const at::Tensor& x) {
  auto* const owner = new c10::Storage(x.storage());
  return host_tensor(x,
                     c10::DataPtr(
                         x.storage().mutable_data(),
                         owner,
                         [](void* storage) { delete static_cast<c10::Storage*>(storage); },
                         c10::Device(at::kCPU)));
}

at::Tensor moved_to_device(const at::Tensor& x, c10::Device device) {
  const std::size_t nbytes = x.storage().nbytes();
  return over(c10::Storage(c10::Storage::use_byte_size_t(),
                           nbytes,
                           taken(x, device),
                           &device_allocator(),
                           /*resizable=*/true),
              x);
}

at::Tensor sparse_over(const at::Tensor& indices,
                       const at::Tensor& values,
                       const at::Tensor& like) {
  return at::_sparse_coo_tensor_unsafe(
      indices, values, like.sizes(), values.options().layout(at::kSparse), like.is_coalesced());
}

at::Tensor HostViews::to_host(const at::Tensor& x) {
  const bool is_ours = is_on_tandem(x);
  if (is_ours && !device_) device_ = x.device();
  if (!is_ours && x.defined() && x.dim() > 0) has_host_ = true;
  if (has_host_ && device_ && beside_ == HostTensors::refused) refuse(*device_, at::kCPU);
  if (!is_ours) return x;
  if (*device_ != x.device() && x.dim() > 0) refuse(*device_, x.device());
  for (const Pair& pair : pairs_)
    if (pair.device.is_same(x)) return pair.host;
  pairs_.push_back({x, host_view(x)});
  return pairs_.back().host;
}

at::Tensor HostViews::to_device(const at::Tensor& x) const {
  if (!x.defined() || !x.device().is_cpu()) return x;
  if (x.is_sparse()) return sparse_over(to_device(x._indices()), to_device(x._values()), x);
  for (const Pair& pair : pairs_) {
    if (pair.host.is_same(x)) return pair.device;
    if (pair.host.storage().unsafeGetStorageImpl() == x.storage().unsafeGetStorageImpl())
      return over(pair.device.storage(), x);
  }
  return moved_to_device(x, *device_);
}

void HostViews::take_resized() const {
  for (const auto& [device, host] : pairs_) {
    if (host.storage().data() != device.storage().data()) {
      const std::size_t nbytes = host.storage().nbytes();
      device.storage().set_data_ptr_noswap(taken(host, device.device()));
      device.storage().set_nbytes(nbytes);
    }
    if (host.sizes() != device.sizes() || host.strides() != device.strides()) {
      device.unsafeGetTensorImpl()->set_sizes_and_strides(
          host.sizes(), host.strides(), host.storage_offset());
    }
  }
}

}  // namespace tandem::libtorch
