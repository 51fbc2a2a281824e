// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/runtime/upload.hpp"

#include "tandem/core/check.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/runtime/dispatch.hpp"

#include "runtime/cuda/backend.hpp"

namespace tandem {

std::shared_ptr<Buffer> upload(const Buffer& source,
                               std::size_t offset,
                               std::size_t nbytes,
                               Device device) {
  TANDEM_ASSERT(source.device().type == DeviceType::cpu, "upload from ", source.device());
  if constexpr (has_cuda) {
    if (device.type == DeviceType::cuda && nbytes > 0)
      return cuda::upload(source, offset, nbytes, device);
  }
  auto target = std::make_shared<Buffer>(device, nbytes, context().category);
  copy_bytes(source, offset, *target, 0, nbytes);
  return target;
}

}  // namespace tandem
