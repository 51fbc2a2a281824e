// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "stand_in/gpu.hpp"

namespace tandem::stand_in {
namespace {

using ::testing::Each;
TEST_F(StandInTest, NothingRunsBeforeItIsAskedFor) {
  int runs = 0;
  for (int i = 0; i < 10; ++i)
    launch(one->main, [&runs] { ++runs; });
  EXPECT_EQ(runs, 0);
  OK(cudaStreamSynchronize(one->main));
  EXPECT_EQ(runs, 10);
}

TEST_F(StandInTest, AStreamRunsInItsOrder) {
  std::vector<int> seen;
  for (int i = 0; i < 100; ++i)
    launch(one->main, [&seen, i] { seen.push_back(i); });
  OK(cudaStreamSynchronize(one->main));
  std::vector<int> expected(100);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(seen, expected);
}

TEST_F(StandInTest, QueriesComeToAnEndAndNotAtOnce) {
  int unready = 0;
  for (int i = 0; i < 100; ++i)
    launch(one->main, [] {});
  while (cudaStreamQuery(one->main) == cudaErrorNotReady)
    ++unready;
  EXPECT_GT(unready, 0);
  EXPECT_LT(unready, 1000);
  EXPECT_EQ(cudaGetLastError(), cudaErrorNotReady);
  OK(cudaStreamQuery(one->main));
}

/// Kernels write a block; another stream's kernel doubles it; the main stream reads.
bool doubled_is_wrong(Gpu& gpu, bool waits_before, bool waits_after) {
  std::uint8_t* const p = gpu.allocate(64);
  EXPECT_EQ(cudaStreamSynchronize(gpu.main), cudaSuccess);
  for (int i = 0; i < 64; ++i)
    launch(gpu.main, [p, i] { p[i] = 21; });
  if (waits_before) gpu.order(gpu.main, gpu.side);
  launch(gpu.side, [p] { std::transform(p, p + 64, p, [](int x) { return 2 * x; }); });
  if (waits_after) gpu.order(gpu.side, gpu.main);
  const Bytes bytes = gpu.read(p, 64);
  EXPECT_EQ(cudaStreamSynchronize(gpu.side), cudaSuccess);
  gpu.free(p);
  return std::ranges::any_of(bytes, [](int x) { return x != 42; });
}

TEST_F(StandInTest, AMissingWaitShows) {
  EXPECT_EQ(count_wrong([&] { return doubled_is_wrong(*one, true, true); }), 0);
  EXPECT_GT(count_wrong([&] { return doubled_is_wrong(*one, true, false); }), 0);
  EXPECT_GT(count_wrong([&] { return doubled_is_wrong(*one, false, true); }), 0);
}

TEST_F(StandInTest, AStreamMayRunBeforeAmidOrAfterAnother) {
  int before = 0, amid = 0, after = 0;
  for (int s = 0; s < 10 * kSeeds; ++s) {
    seed(static_cast<std::uint64_t>(s));
    int steps = 0, seen = 20;
    for (int i = 0; i < 20; ++i)
      launch(one->main, [&steps] { ++steps; });
    launch(one->side, [&] { seen = steps; });
    OK(cudaStreamSynchronize(one->main));
    (seen == 0 ? before : seen == 20 ? after : amid) += 1;
    OK(cudaStreamSynchronize(one->side));
  }
  EXPECT_GT(before, 0);
  EXPECT_GT(amid, 0);
  EXPECT_GT(after, 0);
}

TEST_F(StandInTest, ASeedGivesItsOrderAgain) {
  const auto order = [&](int n) {
    std::vector<int> seen;
    seed(static_cast<std::uint64_t>(n));
    for (int i = 0; i < 30; ++i) {
      launch(one->main, [&seen] { seen.push_back(0); });
      launch(one->side, [&seen] { seen.push_back(1); });
    }
    cudaStreamSynchronize(one->main);
    cudaStreamSynchronize(one->side);
    return seen;
  };
  EXPECT_EQ(order(3), order(3));
  EXPECT_GT(count_wrong([&, n = 0]() mutable { return order(n++) != order(0); }), 0);
}

TEST_F(StandInTest, AWaitIsForTheRecordingOfItsTime) {
  int a = 0;
  launch(one->main, [&a] { a = 1; });
  one->order(one->main, one->side);
  // Later work of the main stream does not end, and what is recorded after it neither.
  set_peers(Peers::hanging);
  std::uint8_t* const p = one->allocate(1);
  std::uint8_t* const q = other->allocate(1);
  OK(cudaStreamSynchronize(other->main));
  OK(cudaMemcpyPeerAsync(p, 0, q, 1, 1, one->main));
  OK(cudaEventRecord(one->event, one->main));
  OK(cudaStreamSynchronize(one->side));
  EXPECT_EQ(a, 1);
  EXPECT_EQ(cudaEventQuery(one->event), cudaErrorNotReady);
  EXPECT_EQ(cudaEventSynchronize(one->event), cudaErrorTimeout);
}

TEST_F(StandInTest, AnEventThatWasNeverRecordedIsDone) {
  OK(cudaEventQuery(one->event));
  OK(cudaStreamWaitEvent(one->side, one->event, 0));
  launch(one->main, [] {});
  OK(cudaEventRecord(one->event, one->main));
  OK(cudaStreamQuery(one->side));
}

TEST_F(StandInTest, EveryCallFailsOnceWhereItIsTold) {
  struct Call {
    const char* name;
    std::function<cudaError_t()> run;
  };
  int n = 0;
  Bytes host(8);
  std::uint8_t* const p = one->allocate(8);
  std::uint8_t* const far = other->allocate(8);
  OK(cudaStreamSynchronize(one->main));
  void* block = one->allocate(8);
  void* pinned = nullptr;
  std::uint64_t value = 0;
  cudaStream_t stream = nullptr;
  cudaEvent_t event = nullptr;
  float ms = 0;
  std::size_t left = 0, all = 0;
  cudaMemPool_t pool = nullptr;
  cudaPointerAttributes attributes{};
  const cudaMemAccessDesc access{{cudaMemLocationTypeDevice, 1}, cudaMemAccessFlagsProtReadWrite};
  const auto launched = [&] {
    cudaGetLastError();
    launch(one->main, [] {});
    return cudaPeekAtLastError();
  };
  const std::vector<Call> calls{
      {"cudaGetDeviceCount", [&] { return cudaGetDeviceCount(&n); }},
      {"cudaSetDevice", [&] { return cudaSetDevice(0); }},
      {"cudaGetDevice", [&] { return cudaGetDevice(&n); }},
      {"cudaDeviceGetAttribute",
       [&] { return cudaDeviceGetAttribute(&n, cudaDevAttrMemoryPoolsSupported, 0); }},
      {"cudaMemGetInfo", [&] { return cudaMemGetInfo(&left, &all); }},
      {"cudaDeviceCanAccessPeer", [&] { return cudaDeviceCanAccessPeer(&n, 0, 1); }},
      {"cudaStreamCreateWithFlags", [&] { return cudaStreamCreateWithFlags(&stream, 0); }},
      {"cudaStreamWaitEvent", [&] { return cudaStreamWaitEvent(stream, one->event, 0); }},
      {"cudaStreamQuery", [&] { return cudaStreamQuery(stream); }},
      {"cudaStreamSynchronize", [&] { return cudaStreamSynchronize(stream); }},
      {"cudaStreamDestroy", [&] { return cudaStreamDestroy(stream); }},
      {"cudaEventCreateWithFlags", [&] { return cudaEventCreateWithFlags(&event, 0); }},
      {"cudaEventRecord", [&] { return cudaEventRecord(event, one->main); }},
      {"cudaEventSynchronize", [&] { return cudaEventSynchronize(event); }},
      {"cudaEventQuery", [&] { return cudaEventQuery(event); }},
      {"cudaEventElapsedTime", [&] { return cudaEventElapsedTime(&ms, event, event); }},
      {"cudaEventDestroy", [&] { return cudaEventDestroy(event); }},
      {"cudaMemPoolCreate", [&] { return make_pool(&pool, 0); }},
      {"cudaMemPoolSetAttribute",
       [&] { return cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &value); }},
      {"cudaMemPoolGetAttribute",
       [&] { return cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &value); }},
      {"cudaMemPoolSetAccess", [&] { return cudaMemPoolSetAccess(pool, &access, 1); }},
      {"cudaMemPoolTrimTo", [&] { return cudaMemPoolTrimTo(pool, 0); }},
      {"cudaMemPoolDestroy", [&] { return cudaMemPoolDestroy(pool); }},
      {"cudaFreeAsync", [&] { return cudaFreeAsync(block, one->main); }},
      {"cudaMallocFromPoolAsync",
       [&] { return cudaMallocFromPoolAsync(&block, 8, one->pool, one->main); }},
      {"cudaMemcpyAsync",
       [&] { return cudaMemcpyAsync(p, host.data(), 8, cudaMemcpyHostToDevice, one->main); }},
      {"cudaMemcpyPeerAsync",
       [&] {
         one->order(one->main, other->main);  // which has written to it
         return cudaMemcpyPeerAsync(p, 0, far, 1, 8, other->main);
       }},
      {"cudaMallocHost", [&] { return cudaMallocHost(&pinned, 8); }},
      {"cudaFreeHost", [&] { return cudaFreeHost(pinned); }},
      {"cudaHostRegister", [&] { return cudaHostRegister(host.data(), 8, 0); }},
      {"cudaHostUnregister", [&] { return cudaHostUnregister(host.data()); }},
      {"cudaPointerGetAttributes", [&] { return cudaPointerGetAttributes(&attributes, p); }},
      {"cudaLaunchKernel", launched},
      {"cudaPeekAtLastError", [] { return cudaPeekAtLastError(); }},
      {"cudaGetLastError", [] { return cudaGetLastError(); }},
  };
  for (const Call& call : calls) {
    SCOPED_TRACE(call.name);
    const std::size_t before = live_objects();
    cudaGetLastError();
    fail_call(call.name, 1, cudaErrorUnknown);
    EXPECT_EQ(call.run(), cudaErrorUnknown);
    EXPECT_EQ(live_objects(), before) << "a call that fails does nothing";
    cudaGetLastError();
    EXPECT_EQ(call.run(), cudaSuccess);
    EXPECT_GE(call_counts()[call.name], 2);
  }
  OK(cudaStreamSynchronize(other->main));
}

TEST_F(StandInTest, TheNthCallFailsAndIsTheLastError) {
  fail_call("cudaEventRecord", 3, cudaErrorUnknown);
  OK(cudaEventRecord(one->event, one->main));
  OK(cudaEventRecord(one->event, one->main));
  EXPECT_EQ(cudaEventRecord(one->event, one->main), cudaErrorUnknown);
  OK(cudaEventRecord(one->event, one->main));
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorUnknown);
  EXPECT_EQ(cudaGetLastError(), cudaErrorUnknown);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(StandInTest, SomeErrorsEndTheUseOfAGpu) {
  std::uint8_t* const p = one->allocate(4);
  Bytes host(4);
  OK(cudaHostRegister(host.data(), 4, 0));
  OK(cudaStreamSynchronize(one->main));
  int runs = 0;
  launch(one->side, [&runs] { ++runs; });
  OK(cudaMemcpyAsync(host.data(), p, 4, cudaMemcpyDeviceToHost, one->main));
  fail_call("cudaStreamQuery", 1, cudaErrorIllegalAddress);
  EXPECT_EQ(cudaStreamQuery(one->side), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaStreamSynchronize(one->main), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);

  OK(cudaSetDevice(1));
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  for (int s = 0; s < kSeeds; ++s) {
    seed(static_cast<std::uint64_t>(s));
    launch(other->main, [] {});
    OK(cudaStreamSynchronize(other->main));
  }
  EXPECT_EQ(runs, 0) << "the first GPU works no more";
  EXPECT_THAT(host, ::testing::Each(0));
  OK(cudaHostUnregister(host.data()));
  OK(cudaSetDevice(0));
  EXPECT_EQ(cudaStreamQuery(one->side), cudaErrorIllegalAddress);
  reset();
  OK(cudaStreamQuery(one->side));
}

TEST_F(StandInTest, WhoWaitsForAGpuThatFailedFailsToo) {
  one->order(one->main, other->main);
  fail_call("cudaStreamQuery", 1, cudaErrorIllegalAddress);
  EXPECT_EQ(cudaStreamQuery(one->side), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaStreamSynchronize(other->main), cudaErrorIllegalAddress);
}

TEST_F(StandInTest, HandlesAreOfTheRightGpuAndNotDestroyed) {
  EXPECT_EQ(cudaStreamQuery(nullptr), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventRecord(other->event, one->main), cudaErrorInvalidResourceHandle);
  launch(other->main, [] { FAIL() << "GPU 1 is not the caller's"; });
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidResourceHandle);
  void* p = nullptr;
  EXPECT_EQ(cudaMallocFromPoolAsync(&p, 8, other->pool, one->main), cudaErrorInvalidValue);
  cudaStream_t stream = nullptr;
  OK(cudaStreamCreateWithFlags(&stream, 0));
  int runs = 0;
  launch(stream, [&runs] { ++runs; });
  OK(cudaEventRecord(one->event, stream));
  OK(cudaStreamDestroy(stream));
  EXPECT_EQ(cudaStreamQuery(stream), cudaErrorInvalidResourceHandle);
  OK(cudaEventSynchronize(one->event));
  EXPECT_EQ(runs, 1) << "a destroyed stream does what it was given";
  EXPECT_EQ(cudaSetDevice(2), cudaErrorInvalidDevice);
}

TEST_F(StandInTest, AMachineMayHaveNoGpuOrNoDriver) {
  int n = 7;
  set_gpus(0);
  EXPECT_EQ(cudaGetDeviceCount(&n), cudaErrorNoDevice);
  EXPECT_EQ(n, 0);
  EXPECT_EQ(cudaSetDevice(0), cudaErrorNoDevice);
  set_gpus(2);
  OK(cudaGetDeviceCount(&n));
  EXPECT_EQ(n, 2);
  unload();
  EXPECT_EQ(cudaStreamDestroy(one->main), cudaErrorCudartUnloading);
  reset();
  OK(cudaStreamQuery(one->main));
}

TEST_F(StandInTest, ADriverMayBeTooOld) {
  int n = 7;
  set_driver(12040);
  EXPECT_EQ(cudaGetDeviceCount(&n), cudaErrorInsufficientDriver);
  EXPECT_EQ(n, 0);
  OK(cudaDriverGetVersion(&n));
  EXPECT_EQ(n, 12040);
  reset();
  OK(cudaGetDeviceCount(&n));
}

TEST_F(StandInTest, NearlyEveryCallMakesAContextOnTheThreadsGpu) {
  set_gpus(4);
  EXPECT_THAT(contexts(), ::testing::IsSubsetOf({0, 1}));
  const auto on_thread = [](int gpu, auto f) {
    std::thread([=] {
      EXPECT_EQ(cudaSetDevice(gpu), cudaSuccess);
      f();
    }).join();
  };
  int n = 0;
  std::thread([&] {
    EXPECT_EQ(cudaGetDevice(&n), cudaSuccess);
    EXPECT_EQ(cudaDeviceCanAccessPeer(&n, 3, 2), cudaSuccess);
  }).join();
  EXPECT_THAT(contexts(), ::testing::Not(::testing::Contains(3)));
  on_thread(3, [] {});
  EXPECT_THAT(contexts(), ::testing::Contains(3));
}

TEST_F(StandInTest, AKernelsErrorIsFoundByWhoAsksItsGpuNext) {
  int runs = 0;
  fail_kernel(2, cudaErrorIllegalAddress);
  for (int i = 0; i < 3; ++i)
    launch(one->main, [&runs] { ++runs; });
  EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "it has not run";
  EXPECT_EQ(cudaStreamSynchronize(one->main), cudaErrorIllegalAddress);
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(cudaStreamQuery(one->side), cudaErrorIllegalAddress);
  std::size_t left = 0, all = 0;
  EXPECT_EQ(cudaMemGetInfo(&left, &all), cudaErrorIllegalAddress);
}

TEST_F(StandInTest, ThreadsDriveTheirStreams) {
  const auto drive = [](Gpu& gpu, int index) {
    cudaSetDevice(index);
    for (int round = 1; round <= 50; ++round) {
      std::uint8_t* const p = gpu.allocate(16);
      launch(gpu.side, [] {});
      gpu.order(gpu.main, gpu.side);
      launch(gpu.side, [=] { std::fill_n(p, 16, static_cast<std::uint8_t>(round)); });
      gpu.order(gpu.side, gpu.main);
      EXPECT_THAT(gpu.read(p, 16), ::testing::Each(round));
      gpu.free(p);
    }
  };
  std::thread first(drive, std::ref(*one), 0), second(drive, std::ref(*other), 1);
  first.join();
  second.join();
}

}  // namespace
}  // namespace tandem::stand_in
