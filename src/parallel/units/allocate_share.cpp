// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/units/allocate_share.hpp"

#include "tandem/runtime/context.hpp"
#include "tandem/tensor/factories.hpp"

#include "runtime/gpu/gpu_backend.hpp"

namespace tandem::parallel {

// The host's memory is pinned for GPUs where it is taken for inputs, and stays so.
Tensor allocate_share(std::int64_t numel, DType dtype, Device device, Category category) {
  const bool is_pinned = device.type == DeviceType::cpu && gpu_backend().pins_host_memory();
  const ContextScope scope(
      [&](Context& c) { c.category = is_pinned ? Category::input : category; });
  const Tensor share = zeros({numel}, {.dtype = dtype, .device = device});
  share.buffer().recategorise(category);
  return share;
}

}  // namespace tandem::parallel
