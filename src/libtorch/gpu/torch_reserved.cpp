// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/gpu/torch_reserved.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

#include "libtorch/gpu/gpu_call.hpp"
#include "libtorch/gpu/torch_out_of_memory.hpp"
#include "libtorch/versions/torch_differences.hpp"
#include "runtime/gpu/devices_of_gpu.hpp"

namespace tandem::libtorch {
namespace {

/// PyTorch's sentences on how much there is, without those on its settings and a program's stack.
std::string said_of_memory(const c10::Error& e) {
  const std::string all = e.what_without_backtrace();
  const std::size_t begin = all.rfind("CUDA out of memory");
  const std::string text = all.substr(begin == std::string::npos ? 0 : begin);
  return text.substr(0, std::min(text.find(" If reserved but unallocated"), text.find('\n')));
}

/// Where a GPU has several devices, nobody knows how many rows each has room for.
std::string text_of(const std::string& device, int ordinal, const std::string& said) {
  const std::string place = "out of memory on ";
  const bool is_shared = devices_of_gpu(ordinal).size() > 1;
  return (said.starts_with(place) ? said : place + device + ": " + said) +
         " Use a smaller batch or chunk on " + device +
         (is_shared ? ", or fewer devices on GPU " + std::to_string(ordinal)
                    : ", or on_oom=\"replan\", which gives it fewer rows");
}

}  // namespace

TorchReserved reserved_of(int ordinal) noexcept {
  try {
    const c10::Device gpu = gpu_of(ordinal);
    const auto stats = allocator_of_gpus().getDeviceStats(gpu.index());
    constexpr auto kAll = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
    const auto& reserved = stats.reserved_bytes[kAll];
    const auto now = static_cast<std::size_t>(reserved.current);
    const auto [free, total] = gpu_memory_info(gpu);
    return {now, static_cast<std::size_t>(reserved.peak), std::min(now + free, total)};
  } catch (...) {
    return {};
  }
}

void empty_cache(int ordinal) {
  call_gpu(ordinal, "cudaFree", [] { allocator_of_gpus().emptyCache(); });
}

void begin_reserved_peak(int ordinal) {
  empty_cache(ordinal);
  call_gpu(
      ordinal, "cudaFree", [&] { allocator_of_gpus().resetPeakStats(gpu_of(ordinal).index()); });
}

TorchOutOfMemory::TorchOutOfMemory(const std::string& device, int ordinal, const c10::Error& said)
    : OutOfMemory(device, 0, reserved_of(ordinal).now, reserved_of(ordinal).most, {}),
      text_(text_of(device, ordinal, said_of_memory(said))) {}

}  // namespace tandem::libtorch
