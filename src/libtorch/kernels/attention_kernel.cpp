// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/kernels/attention_kernel.hpp"

#include <optional>

#include <ATen/ATen.h>
#include <ATen/SDPBackend.h>
#include <ATen/ops/scaled_dot_product_attention_native.h>

#include "libtorch/kernels/host_views.hpp"
#include "libtorch/kernels/kernel_library.hpp"

namespace tandem::libtorch {
namespace {

using MaybeTensor = std::optional<at::Tensor>;

/// Whether the fused kernel can take the tensors. PyTorch's own code converts masks of booleans
/// before it chooses a kernel, so those are left to it.
bool may_be_fused(const at::Tensor& query,
                  const at::Tensor& key,
                  const at::Tensor& value,
                  const MaybeTensor& mask) {
  const c10::Device device = query.device();
  if (!is_on_tandem(query) || key.device() != device || value.device() != device) return false;
  return !mask || !mask->defined() ||
         (mask->device() == device && mask->dtype() == query.dtype() && !mask->requires_grad());
}

MaybeTensor host_view_of(const MaybeTensor& x) {
  return x && x->defined() ? MaybeTensor(host_view(*x)) : std::nullopt;
}

at::Tensor attention(const at::Tensor& query,
                     const at::Tensor& key,
                     const at::Tensor& value,
                     const MaybeTensor& mask,
                     double dropout,
                     bool causal,
                     std::optional<double> scale,
                     bool shares_heads) {
  constexpr auto kFused = static_cast<std::int64_t>(at::SDPBackend::flash_attention);
  if (!shares_heads && may_be_fused(query, key, value, mask) &&
      at::_fused_sdp_choice(host_view(query),
                            host_view(key),
                            host_view(value),
                            host_view_of(mask),
                            dropout,
                            causal,
                            scale) == kFused) {
    return std::get<0>(at::_scaled_dot_product_flash_attention_for_cpu(
        query, key, value, dropout, causal, mask, scale));
  }
  return at::native::scaled_dot_product_attention(
      query, key, value, mask, dropout, causal, scale, shares_heads);
}

}  // namespace

void register_attention_kernel() {
  for (const auto key : {c10::DispatchKey::AutogradPrivateUse1, c10::DispatchKey::PrivateUse1})
    kernel_library("aten", key).impl("scaled_dot_product_attention", &attention);
}

}  // namespace tandem::libtorch
