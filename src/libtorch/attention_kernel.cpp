// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/attention_kernel.hpp"

#include <optional>

#include <ATen/ATen.h>
#include <ATen/SDPBackend.h>
#include <ATen/ops/scaled_dot_product_attention_native.h>

#include "libtorch/host_views.hpp"
#include "libtorch/kernel_library.hpp"

namespace tandem::libtorch {
namespace {

using MaybeTensor = std::optional<at::Tensor>;

/// Whether the host would run its fused kernel. Masks of booleans are converted in PyTorch's own
/// way to attention, which is taken for them.
bool is_fused_on_host(const at::Tensor& query,
                      const at::Tensor& key,
                      const at::Tensor& value,
                      const MaybeTensor& mask,
                      double dropout,
                      bool causal,
                      std::optional<double> scale,
                      bool shares_heads) {
  const bool has_mask = mask && mask->defined();
  if (shares_heads || !is_on_tandem(query) || key.device() != query.device() ||
      value.device() != query.device())
    return false;
  if (has_mask &&
      (mask->device() != query.device() || mask->dtype() != query.dtype() || mask->requires_grad()))
    return false;
  const auto choice = at::_fused_sdp_choice(host_view(query),
                                            host_view(key),
                                            host_view(value),
                                            has_mask ? MaybeTensor(host_view(*mask)) : std::nullopt,
                                            dropout,
                                            causal,
                                            scale);
  return choice == static_cast<std::int64_t>(at::SDPBackend::flash_attention);
}

at::Tensor attention(const at::Tensor& query,
                     const at::Tensor& key,
                     const at::Tensor& value,
                     const MaybeTensor& mask,
                     double dropout,
                     bool causal,
                     std::optional<double> scale,
                     bool shares_heads) {
  if (is_fused_on_host(query, key, value, mask, dropout, causal, scale, shares_heads))
    return std::get<0>(at::_scaled_dot_product_flash_attention_for_cpu(
        query, key, value, dropout, causal, mask, scale));
  return at::native::scaled_dot_product_attention(
      query, key, value, mask, dropout, causal, scale, shares_heads);
}

}  // namespace

void register_attention_kernel() {
  for (const auto key : {c10::DispatchKey::AutogradPrivateUse1, c10::DispatchKey::PrivateUse1})
    kernel_library("aten", key).impl("scaled_dot_product_attention", &attention);
}

}  // namespace tandem::libtorch
