// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/runtime/upload.hpp"

#include <utility>

#include "tandem/core/check.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/runtime/dispatch.hpp"

#include "runtime/gpu/fill_gpu.hpp"
#include "runtime/gpu/gpu_stream.hpp"
#include "runtime/order_of_copies.hpp"

namespace tandem {

std::shared_ptr<Buffer> upload(const Buffer& source,
                               std::size_t offset,
                               std::size_t nbytes,
                               Device device) {
  TANDEM_ASSERT(source.device().type == DeviceType::cpu, "upload from ", source.device());
  if (device.type == DeviceType::cuda && nbytes > 0) {
    const BufferPart all{&source, offset, nbytes};
    return fill(std::span(&all, 1), device).take();
  }
  auto target = std::make_shared<Buffer>(device, nbytes, context().category);
  copy_bytes(source, offset, *target, 0, nbytes);
  return target;
}

FillingBuffer::~FillingBuffer() {
  if (target_ == nullptr || end_ == nullptr) return;
  try {
    take();
  } catch (...) {  // the device takes no more work
  }
}

std::shared_ptr<Buffer> FillingBuffer::take() {
  TANDEM_ASSERT(target_ != nullptr, "a filling buffer is taken twice");
  std::shared_ptr<Buffer> target = std::exchange(target_, nullptr);
  if (end_ == nullptr) return target;
  LogicalDevice& device = target->logical_device();
  try {
    end_->wait(device.stream(), "copy");
  } catch (...) {  // nothing else orders the copies before the target's end
    device.upload_stream().native()->drain();
    throw;
  }
  return target;
}

FillingBuffer fill(std::span<const BufferPart> parts, Device device) {
  if (device.type == DeviceType::cuda) return fill_gpu(parts, device);
  std::size_t nbytes = 0;
  for (const BufferPart& part : parts)
    nbytes += part.nbytes;
  auto target = std::make_shared<Buffer>(device, nbytes, context().category);
  for (const auto& [part, at] : in_order_of_copies(parts, device))
    copy_bytes(*part->buffer, part->offset, *target, at, part->nbytes);
  return {std::move(target), nullptr};
}

}  // namespace tandem
