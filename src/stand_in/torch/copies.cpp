// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <ATen/ops/copy_native.h>

#include "stand_in/torch/families.hpp"
#include "stand_in/torch/op_call.hpp"

namespace tandem::stand_in {
namespace {

/// PyTorch copies the bytes as they are, without a kernel.
bool is_plain(const at::Tensor& to, const at::Tensor& from) {
  if (to.dtype() != from.dtype() || to.sizes() != from.sizes() || to.is_conj() != from.is_conj() ||
      to.is_neg() != from.is_neg())
    return false;
  if (to.is_contiguous()) return from.is_contiguous();
  return to.strides() == from.strides() && to.is_non_overlapping_and_dense();
}

void copy_within(const at::Tensor& to, const at::Tensor& from) {
  OpCall call("aten::copy_", HostTensors::refused);
  const at::Tensor target = call.to_host(to, true), source = call.to_host(from, false);
  call.begin();
  const at::AutoDispatchBelowADInplaceOrView below;
  target.copy_(source);
}

/// A strided or converting copy is a kernel's on each of the GPUs, and one of bytes between them.
at::Tensor& copy(at::Tensor& to, const at::Tensor& from, bool non_blocking) {
  if (!to.is_cuda() || !from.is_cuda() || is_plain(to, from))
    return at::native::copy_(to, from, non_blocking);
  if (to.device() == from.device()) return copy_within(to, from), to;
  const at::Tensor there = at::empty(to.sizes(), from.options().dtype(to.dtype())).copy_(from);
  if (to.is_contiguous()) return at::native::copy_(to, there, non_blocking);
  at::Tensor here = at::empty(to.sizes(), to.options());
  at::native::copy_(here, there, non_blocking);
  return copy_within(to, here), to;
}

}  // namespace

void register_copies(torch::Library& gpu) {
  gpu.impl("copy_", copy);
}

}  // namespace tandem::stand_in
