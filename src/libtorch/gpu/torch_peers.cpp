// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/gpu/torch_peers.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include <ATen/ATen.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "tandem/core/check.hpp"
#include "tandem/runtime/runtime.hpp"

#include "libtorch/gpu/gpu_call.hpp"
#include "libtorch/gpu/own_call.hpp"
#include "libtorch/gpu/torch_stream.hpp"
#include "runtime/gpu/devices_of_gpu.hpp"

namespace tandem::libtorch {
namespace {

constexpr std::int64_t kBytes = 64 * 1024;
constexpr auto kPatience = std::chrono::seconds(5);
constexpr auto kAskEvery = std::chrono::microseconds(50);

/// Where the bytes are made and read, whose memory others take later.
c10::Stream upload_stream(int gpu) {
  return torch_stream(*devices_of_gpu(gpu).front()->gpu()->upload_stream());
}

/// For a copy that may hang: nobody else's work waits behind it.
c10::Stream trial_stream(int gpu) {
  return c10::impl::VirtualGuardImpl(c10::DeviceType::CUDA)
      .getStreamFromGlobalPool(gpu_of(gpu), /*isHighPriority=*/true);
}

bool ends_within_patience(const c10::Stream& stream) {
  c10::Event end(c10::DeviceType::CUDA);
  end.record(stream);
  const auto last = std::chrono::steady_clock::now() + kPatience;
  while (!end.query()) {
    if (std::chrono::steady_clock::now() > last) return false;
    std::this_thread::sleep_for(kAskEvery);
  }
  return true;
}

/// Copies on the source's stream. @return  whether that has ended
bool try_copy(const at::Tensor& source, const at::Tensor& target) {
  const c10::Stream stream = trial_stream(source.get_device());
  const c10::StreamGuard target_scope(trial_stream(target.get_device()));
  const c10::StreamGuard source_scope(stream);
  target.copy_(source, /*non_blocking=*/true);
  return ends_within_patience(stream);
}

/// Whether bytes arrive as they are. PyTorch waits for what comes from the host and goes there.
bool arrive(const at::Tensor& bytes, int from, int to) {
  return call_gpu(from, "copy", [&] {
    const OwnCall own;
    const c10::StreamGuard target_scope(upload_stream(to));
    const c10::StreamGuard source_scope(upload_stream(from));
    at::Tensor source = bytes.to(gpu_of(from));
    at::Tensor target = at::zeros_like(bytes).to(gpu_of(to));
    if (try_copy(source, target)) return at::equal(target.cpu(), bytes);
    new std::pair(std::move(source), std::move(target));  // which it may use at any time
    return false;
  });
}

bool try_pair(int gpu, int other) {
  const at::Tensor bytes = at::arange(kBytes).mul_(131).remainder_(251).to(at::kByte);
  return !arrive(bytes, gpu, other) || !arrive(bytes, other, gpu);
}

}  // namespace

bool are_broken_peers(int gpu, int other) {
  static std::mutex& mutex = *new std::mutex;  // guards `known`; a trial is for all who ask
  static auto& known = *new std::map<std::pair<int, int>, bool>;
  const std::pair<int, int> key = std::minmax(gpu, other);
  const std::scoped_lock lock(mutex);
  const auto found = known.find(key);
  if (found != known.end()) return found->second;
  return known[key] = try_pair(gpu, other);
}

void check_peers(const std::vector<Device>& devices) {
  std::vector<int> gpus;
  for (const Device device : devices) {
    const int gpu = logical_device(device).gpu()->ordinal();
    if (std::ranges::find(gpus, gpu) != gpus.end()) continue;
    for (const int other : gpus)
      TANDEM_CHECK(
          !are_broken_peers(other, gpu),
          "DataParallel: a copy between GPUs ",
          other,
          " and ",
          gpu,
          " hung or changed its bytes; name other GPUs, or switch off what is between them "
          "(IOMMU, PCIe access control)");
    gpus.push_back(gpu);
  }
}

}  // namespace tandem::libtorch
