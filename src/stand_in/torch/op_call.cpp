// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "stand_in/torch/op_call.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <ATen/SparseTensorImpl.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>

#include "stand_in/cuda/control.hpp"

namespace tandem::stand_in {
namespace {

/// Pieces of a strided tensor that are told one by one; of more the whole range is told.
constexpr std::int64_t kMostPieces = 64;

at::Tensor tensor_over(const c10::Storage& storage, c10::DispatchKey key, const at::Tensor& like) {
  at::Tensor y = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(storage), c10::DispatchKeySet(key), like.dtype());
  y.unsafeGetTensorImpl()->set_sizes_and_strides(
      like.sizes(), like.strides(), like.storage_offset());
  return y;
}

at::Tensor host_view(const at::Tensor& x) {
  const c10::Storage& own = x.storage();
  const c10::Storage storage(c10::Storage::use_byte_size_t(),
                             own.nbytes(),
                             c10::DataPtr(stand_in_host(own.data()), c10::Device(at::kCPU)),
                             c10::GetAllocator(at::kCPU),
                             true);
  at::Tensor y = tensor_over(storage, c10::DispatchKey::CPU, x);
  if (x.unsafeGetTensorImpl()->is_wrapped_number())
    y.unsafeGetTensorImpl()->set_wrapped_number(true);
  if (x.is_conj()) y._set_conj(true);
  if (x.is_neg()) y._set_neg(true);
  return y;
}

}  // namespace

OpCall::~OpCall() {
  if (has_begun_) leave_stream();
}

void OpCall::take_stream() {
  stand_in_begin_kernel(stream_, gpu());
  has_begun_ = true;
}

void OpCall::leave_stream() {
  stand_in_end_kernel(stream_, gpu());
  has_begun_ = false;
}

// On a full GPU the allocator waits for all kernels, one of which may wait for the allocator: so
// this one is over before, and another one brings the result.
c10::DataPtr OpCall::on_gpu(const c10::Storage& host) {
  leave_stream();
  c10::DataPtr data = c10::cuda::CUDACachingAllocator::get()->allocate(host.nbytes());
  take_stream();
  if (host.nbytes() > 0) std::memcpy(stand_in_host(data.get()), host.data(), host.nbytes());
  return data;
}

void OpCall::set_device(c10::Device device) {
  if (!guard_) guard_.emplace(device);
}

void OpCall::refuse(const std::string& other) const {
  TORCH_CHECK(false,
              "Expected all tensors to be on the same device, but found at least two devices, ",
              guard_->current_device(),
              " and ",
              other,
              "! (when checking arguments of ",
              name_,
              ")");
}

at::Tensor OpCall::to_host(const at::Tensor& x, bool writes) {
  if (!x.defined()) return x;
  if (!x.is_cuda()) {
    has_host_ |= x.dim() > 0 && host_ == HostTensors::refused;
    if (has_host_ && guard_) refuse("cpu");
    return x;
  }
  has_mask_ |= x.scalar_type() == at::kBool || x.scalar_type() == at::kByte;
  set_device(x.device());
  if (has_host_) refuse("cpu");
  if (x.device() != guard_->current_device()) refuse(x.device().str());
  for (Pair& p : pairs_)
    if (p.gpu.is_same(x)) return p.writes |= writes, p.host;
  if (x.is_sparse()) return sparse_to_host(x, writes);
  pairs_.push_back({x, host_view(x), writes});
  return pairs_.back().host;
}

at::Tensor OpCall::sparse_to_host(const at::Tensor& x, bool writes) {
  const at::Tensor indices = to_host(x._indices(), writes), values = to_host(x._values(), writes);
  const at::Tensor y = at::_sparse_coo_tensor_unsafe(indices, values, x.sizes());
  y._coalesced_(x.is_coalesced());
  pairs_.push_back({x, y, writes});
  return y;
}

at::Tensor OpCall::sparse_to_gpu(const at::Tensor& x) {
  const at::Tensor y =
      at::_sparse_coo_tensor_unsafe(to_gpu(x._indices()), to_gpu(x._values()), x.sizes());
  return y._coalesced_(x.is_coalesced());
}

void OpCall::take_sparse(const Pair& pair) {
  auto* const own = static_cast<at::SparseTensorImpl*>(pair.gpu.unsafeGetTensorImpl());
  own->resize_(pair.host.sparse_dim(), pair.host.dense_dim(), pair.host.sizes());
  own->set_indices_and_values_unsafe(to_gpu(pair.host._indices()), to_gpu(pair.host._values()));
  own->set_coalesced(pair.host.is_coalesced());
}

void OpCall::begin() {
  if (!guard_) guard_.emplace(c10::Device(at::kCUDA, c10::cuda::current_device()));
  stream_ = c10::cuda::getCurrentCUDAStream(static_cast<c10::DeviceIndex>(gpu())).stream();
  take_stream();
  for (const Pair& p : pairs_)
    if (!p.gpu.is_sparse()) use(p.gpu, p.writes);
}

at::Tensor OpCall::to_gpu(const at::Tensor& x) {
  if (!x.defined() || !x.device().is_cpu()) return x;
  for (const Pair& p : pairs_) {
    if (p.host.is_same(x)) return p.gpu;
    if (x.is_sparse() || p.host.is_sparse()) continue;
    if (p.host.storage().unsafeGetStorageImpl() == x.storage().unsafeGetStorageImpl())
      return tensor_over(p.gpu.storage(), c10::DispatchKey::CUDA, x);
  }
  if (x.is_sparse()) return sparse_to_gpu(x);
  const c10::Storage made(c10::Storage::use_byte_size_t(),
                          x.storage().nbytes(),
                          on_gpu(x.storage()),
                          c10::cuda::CUDACachingAllocator::get(),
                          true);
  at::Tensor y = tensor_over(made, c10::DispatchKey::CUDA, x);
  use(y, true);
  return y;
}

void OpCall::take_resized() {
  for (const Pair& p : pairs_) {
    if (p.host.is_sparse()) {
      if (p.writes) take_sparse(p);
      continue;
    }
    if (p.host.storage().data() != stand_in_host(p.gpu.storage().data())) {
      p.gpu.storage().set_data_ptr_noswap(on_gpu(p.host.storage()));
      p.gpu.storage().set_nbytes(p.host.storage().nbytes());
      use(p.gpu, true);
    }
    if (p.host.sizes() != p.gpu.sizes() || p.host.strides() != p.gpu.strides())
      p.gpu.unsafeGetTensorImpl()->set_sizes_and_strides(
          p.host.sizes(), p.host.strides(), p.host.storage_offset());
  }
}

void OpCall::count_writes() const {
  for (const Pair& p : pairs_)
    if (p.writes) p.gpu.unsafeGetTensorImpl()->bump_version();
}

void OpCall::reach() const {
  stand_in_reach(stream_, gpu());
}

void OpCall::use_bytes(const char* p, std::int64_t nbytes, bool writes) const {
  TORCH_CHECK(
      stand_in_use(stream_, gpu(), p, static_cast<std::size_t>(nbytes), writes ? 1 : 0, name_) != 0,
      "CUDA error: an illegal memory access was encountered (",
      name_,
      ")");
}

// Rows of a matrix that are parts of longer rows are told apart from what lies between them.
void OpCall::use(const at::Tensor& x, bool writes) const {
  if (x.numel() == 0) return;
  const auto item = static_cast<std::int64_t>(x.element_size());
  const char* const first =
      static_cast<const char*>(x.storage().data()) + x.storage_offset() * item;
  if (x.is_contiguous()) return use_bytes(first, x.numel() * item, writes);
  std::vector<std::pair<std::int64_t, std::int64_t>> dims;  // stride and size, the nearest first
  for (std::int64_t d = 0; d < x.dim(); ++d)
    if (x.size(d) > 1 && x.stride(d) != 0) dims.emplace_back(x.stride(d), x.size(d));
  std::ranges::sort(dims);
  std::int64_t run = 1, pieces = 1, reach = 1;
  std::size_t inner = 0;
  for (; inner < dims.size() && dims[inner].first <= run; ++inner)
    run = (dims[inner].second - 1) * dims[inner].first + run;
  for (const auto& [stride, size] : dims)
    reach += (size - 1) * stride;
  for (std::size_t d = inner; d < dims.size(); ++d)
    pieces *= dims[d].second;
  if (pieces > kMostPieces) return use_bytes(first, reach * item, writes);
  for (std::int64_t piece = 0; piece < pieces; ++piece) {
    std::int64_t offset = 0, rest = piece;
    for (std::size_t d = inner; d < dims.size(); ++d) {
      offset += rest % dims[d].second * dims[d].first;
      rest /= dims[d].second;
    }
    use_bytes(first + offset * item, run * item, writes);
  }
}

}  // namespace tandem::stand_in
