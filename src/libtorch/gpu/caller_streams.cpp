// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/gpu/caller_streams.hpp"

#include <algorithm>
#include <exception>

#include <ATen/ATen.h>
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "tandem/core/check.hpp"
#include "tandem/runtime/runtime.hpp"

#include "libtorch/gpu/gpu_call.hpp"
#include "libtorch/gpu/own_call.hpp"
#include "libtorch/gpu/torch_gpu.hpp"
#include "libtorch/versions/torch_differences.hpp"

namespace tandem::libtorch {
namespace {

/// Null: it is none of PyTorch's GPUs.
const TorchGpu* torch_gpu(Device device) {
  return dynamic_cast<const TorchGpu*>(logical_device(device).gpu());
}

c10::Stream main_stream(Device device) {
  return torch_stream(*torch_gpu(device)->main_stream());
}

c10::Stream current_stream(Device device) {
  const c10::impl::VirtualGuardImpl guard(c10::DeviceType::CUDA);
  return guard.getStream(gpu_of(torch_gpu(device)->ordinal()));
}

/// `stream` goes on after the work of `other` so far.
void wait_for(const c10::Stream& stream, const c10::Stream& other) {
  c10::Event so_far(c10::DeviceType::CUDA);
  so_far.record(other);
  so_far.block(stream);
}

void check_not_forked(const TorchGpu& gpu) {
  TANDEM_CHECK(gpu.is_of_this_process(),
               "DataParallel: this process was forked after its first use of PyTorch's GPUs, and "
               "CUDA does not work in the child; fork before it, or start the child by "
               "torch.multiprocessing.get_context(\"spawn\")");
}

}  // namespace

std::vector<c10::Stream> current_gpu_streams() {
  std::vector<c10::Stream> streams;
  if (Runtime::instance().made(DeviceType::cuda).empty()) return streams;
  const c10::impl::VirtualGuardImpl guard(c10::DeviceType::CUDA);
  for (int gpu = 0; gpu < guard.deviceCount(); ++gpu)
    streams.push_back(guard.getStream(gpu_of(gpu)));
  return streams;
}

std::vector<c10::Stream> streams_for(Device device, std::vector<c10::Stream> of_caller) {
  if (const TorchGpu* const gpu = torch_gpu(device))
    of_caller.at(static_cast<std::size_t>(gpu->ordinal())) = main_stream(device);
  return of_caller;
}

void await_current_streams(const std::vector<Device>& devices) {
  for (const Device device : devices) {
    if (torch_gpu(device) == nullptr) return;
    const c10::Stream main = main_stream(device), current = current_stream(device);
    if (main != current) wait_for(main, current);
  }
}

void hand_to_main_stream(const at::Tensor& x, Device device) {
  const TorchGpu* const gpu = torch_gpu(device);
  if (gpu == nullptr) return;
  const c10::Stream main = main_stream(device), current = current_stream(device);
  if (main == current) return;
  call_gpu(gpu->ordinal(), "cudaStreamWaitEvent", [&] {
    wait_for(main, current);
    if (!x.has_storage() || x.numel() == 0) return;
    const c10::impl::VirtualGuardImpl guard(c10::DeviceType::CUDA);
    guard.recordDataPtrOnStream(x.storage().data_ptr(), main);
  });
}

at::Tensor taken_from_main_stream(at::Tensor x, Device device) {
  const TorchGpu* const gpu = torch_gpu(device);
  if (gpu == nullptr) return x;
  const c10::Stream main = main_stream(device), current = current_stream(device);
  if (main == current) return x;
  return call_gpu(gpu->ordinal(), "cudaStreamWaitEvent", [&] {
    const OwnCall own;
    wait_for(current, main);
    at::Tensor copy = x.clone();
    wait_for(main, current);
    return copy;
  });
}

CallerStreams::CallerStreams(const std::vector<Device>& devices)
    : exceptions_(std::uncaught_exceptions()), devices_(devices) {
  begun_.devices.reserve(devices.size());
  for (const Device device : devices)
    if (torch_gpu(device) != nullptr) begin(device);
}

void CallerStreams::begin(Device device) {
  const TorchGpu& gpu = *torch_gpu(device);
  check_not_forked(gpu);
  const c10::Stream caller = current_stream(device);
  TANDEM_CHECK(!is_current_stream_captured(gpu_of(gpu.ordinal())),
               "DataParallel: a CUDA graph is being captured on ",
               device,
               ", but a call waits for other threads; call outside of the capture");
  const bool is_first = std::ranges::none_of(
      begun_.devices, [&](Device other) { return torch_gpu(other)->ordinal() == gpu.ordinal(); });
  if (is_first)
    gpu.begin_call(caller);
  else
    gpu.begin_call();
  begun_.devices.push_back(device);
  if (is_first) return;
  own_.push_back(device);
  call_gpu(gpu.ordinal(), "cudaStreamWaitEvent", [&] { wait_for(main_stream(device), caller); });
}

CallerStreams::Begun::~Begun() {
  for (const Device device : devices)
    torch_gpu(device)->end_call();
}

CallerStreams::~CallerStreams() {
  if (std::uncaught_exceptions() > exceptions_)
    for (const Device device : devices_)
      if (const TorchGpu* const gpu = torch_gpu(device)) gpu->main_stream()->drain();
  join();
}

void CallerStreams::join() const noexcept {
  for (const Device device : own_) {
    try {
      wait_for(current_stream(device), main_stream(device));
    } catch (...) {  // the streams cannot order themselves, so the host does
      torch_gpu(device)->main_stream()->drain();
    }
  }
}

}  // namespace tandem::libtorch
