// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Whether two GPUs reach each other's memory. The driver's word is not enough: with some IOMMU and
// PCIe settings a copy between peers hangs or brings other bytes, so one is tried first.

#include "runtime/cuda/peers.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tandem/core/error.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/runtime/logical_device.hpp"

#include "runtime/cuda/check.hpp"
#include "runtime/cuda/ends_within.hpp"
#include "runtime/cuda/pool.hpp"

namespace tandem::cuda {
namespace {

constexpr std::size_t kBytes = 64 * 1024;
constexpr auto kPatience = std::chrono::seconds(5);
constexpr auto kAskEvery = std::chrono::milliseconds(1);

enum Answer : std::uint8_t { unknown, asking, no, broken, yes };
/// By pair, the lower GPU first.
std::array<std::array<std::atomic<std::uint8_t>, kMaxDevices>, kMaxDevices> answers{};

std::atomic<std::uint8_t>& answer_of(int gpu, int other) noexcept {
  return answers[static_cast<std::size_t>(std::min(gpu, other))]
                [static_cast<std::size_t>(std::max(gpu, other))];
}

struct DestroyEvent {
  void operator()(cudaEvent_t event) const noexcept { forgive(cudaEventDestroy(event)); }
};

/// A block of a GPU, a stream and a pool, for the trial.
class Trial {
 public:
  explicit Trial(int gpu) : gpu_(gpu) {
    const GpuScope scope(gpu);
    try {
      TANDEM_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
      pool_ = make_pool(gpu);
      cudaError_t status = cudaMallocFromPoolAsync(&data_, kBytes, pool_, stream_);
      if (status == cudaErrorMemoryAllocation) {  // other pools may keep all of the GPU
        forgive(status);
        release_pools(gpu);
        status = cudaMallocFromPoolAsync(&data_, kBytes, pool_, stream_);
      }
      check(status, "cudaMallocFromPoolAsync", gpu);
    } catch (...) {
      release();
      throw;
    }
  }
  ~Trial() { release(); }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  void fill(const std::vector<std::uint8_t>& bytes) {
    copy(data_, bytes.data(), cudaMemcpyHostToDevice);
  }
  std::vector<std::uint8_t> bytes() {
    std::vector<std::uint8_t> read(kBytes);
    copy(read.data(), data_, cudaMemcpyDeviceToHost);
    return read;
  }
  /// @return  whether the copy came to its end in time.
  bool copy_from(const Trial& other) {
    const GpuScope scope(gpu_);
    TANDEM_CUDA(cudaMemcpyPeerAsync(data_, gpu_, other.data_, other.gpu_, kBytes, stream_));
    try {
      keep_until_read(other);
    } catch (...) {
      done();
      throw;
    }
    return done();
  }

 private:
  void copy(void* to, const void* from, cudaMemcpyKind kind) {
    const GpuScope scope(gpu_);
    TANDEM_CUDA(cudaMemcpyAsync(to, from, kBytes, kind, stream_));
    if (!done())
      throw DeviceError("GPU " + std::to_string(gpu_), "copy", 0, "the copy does not end");
  }
  /// The other block is not freed before the copy has ended, which it may never do.
  void keep_until_read(const Trial& other) const {
    cudaEvent_t end = nullptr;
    TANDEM_CUDA(cudaEventCreateWithFlags(&end, cudaEventDisableTiming));
    const std::unique_ptr<CUevent_st, DestroyEvent> owner(end);
    TANDEM_CUDA(cudaEventRecord(end, stream_));
    TANDEM_CUDA(cudaStreamWaitEvent(other.stream_, end, 0));
  }
  bool done() const { return ends_within(kPatience, stream_); }
  void release() noexcept {
    const GpuScope scope(gpu_);
    if (data_ != nullptr) forgive(cudaFreeAsync(data_, stream_));
    if (pool_ != nullptr) forgive(cudaMemPoolDestroy(pool_));
    if (stream_ != nullptr) forgive(cudaStreamDestroy(stream_));
  }

  int gpu_;
  cudaStream_t stream_ = nullptr;
  cudaMemPool_t pool_ = nullptr;
  void* data_ = nullptr;
};

/// Whether copies go through the host although GPUs may reach each other: to try that way where
/// they do.
bool are_off() {
  const char* const off = std::getenv("TANDEM_NO_CUDA_PEERS");
  return off != nullptr && std::string_view(off) == "1";
}

bool reaches(int gpu, int other) {
  int can = 0;
  TANDEM_CUDA(cudaDeviceCanAccessPeer(&can, gpu, other));
  return can != 0;
}

Answer try_pair(int gpu, int other) {
  if (are_off() || !reaches(gpu, other) || !reaches(other, gpu)) return no;
  std::vector<std::uint8_t> pattern(kBytes);
  for (std::size_t i = 0; i < kBytes; ++i)
    pattern[i] = static_cast<std::uint8_t>(i * 131 + i / 251);
  Trial source(gpu), target(other);
  source.fill(pattern);
  target.fill(std::vector<std::uint8_t>(kBytes));
  if (!target.copy_from(source) || target.bytes() != pattern) return broken;
  source.fill(std::vector<std::uint8_t>(kBytes));
  return source.copy_from(target) && source.bytes() == pattern ? yes : broken;
}

/// What is known of two GPUs, after a trial if nothing is.
std::uint8_t find_answer(int gpu, int other) {
  auto& answer = answer_of(gpu, other);
  for (;;) {
    std::uint8_t seen = answer.load(std::memory_order_acquire);
    if (seen > asking) return seen;
    if (seen == unknown && answer.compare_exchange_strong(seen, asking)) break;
    check_alive("copy");  // another thread is trying this pair
    std::this_thread::sleep_for(kAskEvery);
  }
  std::uint8_t before = asking;  // no longer, if the trial's pools were refused
  try {
    const std::uint8_t found = try_pair(gpu, other);
    return answer.compare_exchange_strong(before, found) ? found : before;
  } catch (...) {
    answer.compare_exchange_strong(before, unknown);
    throw;
  }
}

}  // namespace

bool are_peers(int gpu, int other) {
  return gpu == other || find_answer(gpu, other) == yes;
}

bool are_broken_peers(int gpu, int other) {
  return gpu != other && find_answer(gpu, other) == broken;
}

void refuse_peers(int gpu, int other) noexcept {
  answer_of(gpu, other).store(no, std::memory_order_release);
}

}  // namespace tandem::cuda
