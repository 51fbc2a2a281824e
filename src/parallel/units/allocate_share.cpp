// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/units/allocate_share.hpp"

#include "tandem/runtime/context.hpp"
#include "tandem/tensor/factories.hpp"

namespace tandem::parallel {

Tensor allocate_share(std::int64_t numel, DType dtype, Device device, Category category) {
  const ContextScope scope([&](Context& c) {
    c.category = category;
    c.pins = true;
  });
  return zeros({numel}, {.dtype = dtype, .device = device});
}

}  // namespace tandem::parallel
