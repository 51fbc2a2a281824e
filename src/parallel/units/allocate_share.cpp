// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/units/allocate_share.hpp"

#include <memory>
#include <utility>

#include "tandem/autograd/autograd.hpp"
#include "tandem/tensor/factories.hpp"

namespace tandem::parallel {

Tensor allocate_share(std::int64_t numel, DType dtype, Device device, Category category) {
  const autograd::NoGrad off;
  auto buffer =
      std::make_shared<Buffer>(device, static_cast<std::size_t>(numel) * itemsize(dtype), category);
  return from_buffer(std::move(buffer), 0, {numel}, {1}, dtype).zero_();
}

}  // namespace tandem::parallel
