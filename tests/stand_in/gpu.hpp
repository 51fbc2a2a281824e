// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "stand_in/control.hpp"

// What the stand-in's own tests share.
namespace tandem::stand_in {

using Bytes = std::vector<std::uint8_t>;

inline constexpr int kSeeds = 20;

#define OK(expr) ASSERT_EQ(expr, cudaSuccess)

inline cudaError_t make_pool(cudaMemPool_t* pool, int gpu) {
  cudaMemPoolProps props{};
  props.allocType = cudaMemAllocationTypePinned;
  props.location.type = cudaMemLocationTypeDevice;
  props.location.id = gpu;
  return cudaMemPoolCreate(pool, &props);
}

/// A GPU's pool, and two streams.
class Gpu {
 public:
  explicit Gpu(int gpu) {
    cudaSetDevice(gpu);
    EXPECT_EQ(cudaStreamCreateWithFlags(&main, cudaStreamNonBlocking), cudaSuccess);
    EXPECT_EQ(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking), cudaSuccess);
    EXPECT_EQ(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
    EXPECT_EQ(make_pool(&pool, gpu), cudaSuccess);
    cudaSetDevice(0);
  }
  ~Gpu() {
    reset();  // else a GPU that takes no more work would keep them
    for (void* p : blocks_)
      EXPECT_EQ(cudaFreeAsync(p, main), cudaSuccess);
    EXPECT_EQ(cudaMemPoolDestroy(pool), cudaSuccess);
    EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(main), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(side), cudaSuccess);
    EXPECT_EQ(cudaStreamDestroy(side), cudaSuccess);
    EXPECT_EQ(cudaStreamDestroy(main), cudaSuccess);
  }
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  /// Freed with the GPU.
  std::uint8_t* allocate(std::size_t nbytes) {
    void* p = nullptr;
    EXPECT_EQ(cudaMallocFromPoolAsync(&p, nbytes, pool, main), cudaSuccess);
    blocks_.push_back(p);
    return static_cast<std::uint8_t*>(p);
  }
  /// It is freed elsewhere.
  void forget(void* p) { std::erase(blocks_, p); }
  void free(void* p) {
    forget(p);
    EXPECT_EQ(cudaFreeAsync(p, main), cudaSuccess);
  }
  Bytes read(const void* p, std::size_t nbytes) {
    Bytes bytes(nbytes);
    EXPECT_EQ(cudaMemcpyAsync(bytes.data(), p, nbytes, cudaMemcpyDeviceToHost, main), cudaSuccess);
    return bytes;
  }
  void write(void* p, const Bytes& bytes) {
    EXPECT_EQ(cudaMemcpyAsync(p, bytes.data(), bytes.size(), cudaMemcpyHostToDevice, main),
              cudaSuccess);
  }
  /// `later` goes on after the work of `earlier` so far.
  void order(cudaStream_t earlier, cudaStream_t later) {
    EXPECT_EQ(cudaEventRecord(event, earlier), cudaSuccess);
    EXPECT_EQ(cudaStreamWaitEvent(later, event, 0), cudaSuccess);
  }

  cudaStream_t main = nullptr, side = nullptr;
  cudaEvent_t event = nullptr;
  cudaMemPool_t pool = nullptr;

 private:
  std::vector<void*> blocks_;
};

class StandInTest : public ::testing::Test {
 protected:
  StandInTest() {
    reset();
    set_gpus(2);
    cudaGetLastError();
    one = std::make_unique<Gpu>(0);
    other = std::make_unique<Gpu>(1);
  }
  ~StandInTest() override {
    one.reset();
    other.reset();
    EXPECT_EQ(live_objects(), objects_);
  }

  std::unique_ptr<Gpu> one, other;

 private:
  const std::size_t objects_ = live_objects();
};

/// In how many of kSeeds runs, each with another seed, `wrong()` was true.
inline int count_wrong(const std::function<bool()>& wrong) {
  int n = 0;
  for (int s = 0; s < kSeeds; ++s) {
    seed(static_cast<std::uint64_t>(s));
    n += wrong() ? 1 : 0;
  }
  return n;
}

}  // namespace tandem::stand_in
