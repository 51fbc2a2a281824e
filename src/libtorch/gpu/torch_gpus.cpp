// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/gpu/torch_gpus.hpp"

#include <utility>

#include <ATen/Context.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "tandem/core/check.hpp"
#include "tandem/runtime/logical_device.hpp"

#include "kernels/gpu_kernels.hpp"
#include "libtorch/gpu/gpu_call.hpp"
#include "libtorch/gpu/gpu_comparison.hpp"
#include "libtorch/gpu/gpu_tensors.hpp"
#include "libtorch/gpu/own_call.hpp"
#include "libtorch/gpu/torch_event.hpp"
#include "libtorch/gpu/torch_gpu.hpp"
#include "libtorch/gpu/torch_gpu_kernels.hpp"
#include "libtorch/gpu/torch_peers.hpp"
#include "libtorch/gpu/torch_reserved.hpp"
#include "runtime/gpu/wait_stream.hpp"

namespace tandem::libtorch {
namespace {

/// On one GPU the target's stream copies, after the source's work.
void copy_here(const Stream& source_stream,
               const void* source,
               const Stream& target_stream,
               void* target,
               std::size_t nbytes,
               int ordinal) {
  wait_stream(target_stream, source_stream, "copy");
  call_gpu(ordinal, "copy", [&] {
    const OwnCall own;
    const c10::StreamGuard scope(torch_stream(*target_stream.native()));
    bytes_of_gpu(target, nbytes, ordinal).copy_(bytes_of_gpu(source, nbytes, ordinal), true);
  });
}

}  // namespace

int TorchGpus::count() const noexcept {
  return c10::impl::VirtualGuardImpl(c10::DeviceType::CUDA).deviceCount();
}

void TorchGpus::check_gpu(Device name, int ordinal) const {
  TANDEM_CHECK(ordinal >= 0 && ordinal < count(),
               "device ",
               name,
               ": PyTorch has no GPU ",
               ordinal,
               "; it sees ",
               count(),
               "; cuda:0x4 makes four logical devices of one GPU");
}

std::shared_ptr<GpuDevice> TorchGpus::open(Device name, int ordinal) {
  check_gpu(name, ordinal);
  call_gpu(ordinal, "cudaMalloc", [&] {
    prepare_updates(ordinal);
    prepare_comparisons(ordinal);
  });
  return std::make_shared<TorchGpu>(name, ordinal);
}

std::unique_ptr<GpuEvent> TorchGpus::make_event() {
  return std::make_unique<TorchEvent>();
}

void TorchGpus::begin_copy_between(const Stream& source_stream,
                                   const void* source,
                                   const Stream& target_stream,
                                   void* target,
                                   std::size_t nbytes) {
  copy_between(source_stream, source, target_stream, target, nbytes);
}

// PyTorch's copy between GPUs runs on the source's current stream, after the work of both, and both
// go on after it.
void TorchGpus::copy_between(const Stream& source_stream,
                             const void* source,
                             const Stream& target_stream,
                             void* target,
                             std::size_t nbytes) {
  const int from = source_stream.logical_device().gpu()->ordinal();
  const int to = target_stream.logical_device().gpu()->ordinal();
  if (from == to) {
    copy_here(source_stream, source, target_stream, target, nbytes, to);
    return wait_stream(source_stream, target_stream, "copy");
  }
  call_gpu(from, "copy", [&] {
    const OwnCall own;
    const c10::StreamGuard target_scope(torch_stream(*target_stream.native()));
    const c10::StreamGuard source_scope(torch_stream(*source_stream.native()));
    bytes_of_gpu(target, nbytes, to).copy_(bytes_of_gpu(source, nbytes, from), true);
  });
}

std::shared_ptr<void> TorchGpus::make_current(int ordinal) noexcept {
  try {
    return std::make_shared<c10::DeviceGuard>(gpu_of(ordinal));
  } catch (const c10::Error&) {  // the next call on the GPU says so
    return nullptr;
  }
}

void TorchGpus::check_context(int ordinal, const char* call) {
  call_gpu(ordinal, call, [&] {
    const c10::impl::VirtualGuardImpl guard(c10::DeviceType::CUDA);
    guard.queryStream(guard.getStream(gpu_of(ordinal)));
  });
}

void TorchGpus::release_unused(int ordinal) {
  empty_cache(ordinal);
}

bool TorchGpus::are_broken_peers(int ordinal, int other) {
  return libtorch::are_broken_peers(ordinal, other);
}

namespace {

bool register_once() {
  TANDEM_CHECK(c10::impl::hasDeviceGuardImpl(c10::DeviceType::CUDA),
               "devices: this PyTorch has no CUDA; install its CUDA build, or use virtual devices "
               "(cpu:4)");
  auto backend = std::make_unique<TorchGpus>();
  TANDEM_CHECK(backend->count() > 0,
               "devices: PyTorch sees no GPU (torch.cuda.is_available() is false); use virtual "
               "devices (cpu:4)");
  at::globalContext().lazyInitDevice(c10::DeviceType::CUDA);  // the allocator is made then
  register_gpu_backend(std::move(backend));
  kernels::register_gpu_kernels(std::make_unique<TorchGpuKernels>());
  return true;
}

}  // namespace

void register_torch_gpus() {
  static const bool is_done = register_once();
  static_cast<void>(is_done);
}

}  // namespace tandem::libtorch
