// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <nccl.h>

#include "stand_in/gpu.hpp"

namespace tandem::stand_in {
namespace {

// What src/stand_in/nccl takes for granted, which is built without this header.
static_assert(sizeof(ncclUniqueId) == 128);
static_assert(offsetof(ncclConfig_t, magic) == 8 && offsetof(ncclConfig_t, blocking) == 16);
static_assert(ncclUnhandledCudaError == 1 && ncclInvalidArgument == 4 && ncclInvalidUsage == 5 &&
              ncclInProgress == 7);
static_assert(ncclUint8 == 1 && ncclInt32 == 2 && ncclInt64 == 4 && ncclFloat16 == 6 &&
              ncclFloat32 == 7 && ncclFloat64 == 8 && ncclBfloat16 == 9);
static_assert(ncclSum == 0 && ncclProd == 1 && ncclMax == 2 && ncclMin == 3 && ncclAvg == 4);

#define NCCL_OK(expr) EXPECT_EQ(expr, ncclSuccess) << ncclGetLastError(nullptr)

/// The communicators of both GPUs, which do not block.
class Pair {
 public:
  Pair() {
    ncclUniqueId id;
    NCCL_OK(ncclGetUniqueId(&id));
    NCCL_OK(ncclGroupStart());
    for (int r = 0; r < 2; ++r) {
      ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
      config.blocking = 0;
      cudaSetDevice(r);
      EXPECT_EQ(ncclCommInitRankConfig(&at(r), 2, id, r, &config), ncclInProgress);
    }
    cudaSetDevice(0);
    EXPECT_EQ(ncclGroupEnd(), ncclInProgress);
    settle();
  }
  ~Pair() { abort(); }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  ncclComm_t& at(int rank) { return comms_[static_cast<std::size_t>(rank)]; }
  /// Queues the sum of one byte of each.
  ncclResult_t sum(std::uint8_t* p, cudaStream_t first, std::uint8_t* q, cudaStream_t second) {
    NCCL_OK(ncclGroupStart());
    ncclAllReduce(p, p, 1, ncclUint8, ncclSum, at(0), first);
    ncclAllReduce(q, q, 1, ncclUint8, ncclSum, at(1), second);
    return ncclGroupEnd();
  }
  void settle() {
    for (const ncclComm_t comm : comms_)
      for (ncclResult_t state = ncclInProgress; state == ncclInProgress;)
        NCCL_OK(ncclCommGetAsyncError(comm, &state));
  }
  void abort() {
    for (ncclComm_t& comm : comms_)
      NCCL_OK(ncclCommAbort(std::exchange(comm, nullptr)));
  }

 private:
  std::array<ncclComm_t, 2> comms_{};
};

class StandInNcclTest : public StandInTest {
 protected:
  StandInNcclTest() {
    for (Gpu* gpu : {one.get(), other.get()}) {
      std::uint8_t* const bytes = gpu->allocate(1);
      gpu->write(bytes, {1});
      (gpu == one.get() ? p : q) = bytes;
    }
    synchronize();
  }
  void synchronize() {
    EXPECT_EQ(cudaStreamSynchronize(one->main), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(other->main), cudaSuccess);
  }

  std::uint8_t *p = nullptr, *q = nullptr;
};

TEST_F(StandInNcclTest, ARankHasItsResultInTheOrderOfItsOwnStream) {
  Pair pair;
  const auto misses = [&](bool waits) {
    one->write(p, {1});
    other->write(q, {1});
    synchronize();
    EXPECT_EQ(pair.sum(p, one->main, q, other->main), ncclInProgress);
    pair.settle();
    if (waits) other->order(other->main, one->main);
    int own = 0, others = 0;
    launch(one->main, [&] { own = *p, others = *q; });
    synchronize();
    EXPECT_EQ(own, 2);
    return others != 2;
  };
  EXPECT_EQ(count_wrong([&] { return misses(true); }), 0);
  EXPECT_GT(count_wrong([&] { return misses(false); }), 0);
}

TEST_F(StandInNcclTest, GroupsThatWereNotWaitedForComeToGpusInAnyOrder) {
  const auto hangs = [&](bool waits) {
    Pair first, second;
    first.sum(p, one->main, q, other->main);
    if (waits) first.settle();
    second.sum(p, one->main, q, other->main);
    first.settle();
    second.settle();
    const bool result = cudaStreamSynchronize(one->main) == cudaErrorTimeout;
    first.abort();
    second.abort();
    synchronize();
    return result;
  };
  EXPECT_EQ(count_wrong([&] { return hangs(true); }), 0);
  EXPECT_GT(count_wrong([&] { return hangs(false); }), 0);
}

TEST_F(StandInNcclTest, AnAbortDropsWhatHasNotRun) {
  const std::size_t objects = live_objects();
  Pair pair;
  EXPECT_EQ(live_objects(), objects + 2);
  pair.sum(p, one->main, q, other->main);
  pair.settle();
  pair.abort();
  EXPECT_EQ(live_objects(), objects);
  EXPECT_EQ(one->read(p, 1), Bytes{1});
}

TEST_F(StandInNcclTest, RanksWithoutMemoryLeaveNothingOfTheOthers) {
  const auto free_bytes = [] {
    std::size_t free = 0, total = 0;
    EXPECT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
    return free;
  };
  set_memory(std::size_t{4} << 20);
  other->allocate((std::size_t{3} << 20) + (std::size_t{1} << 19));  // a communicator takes 1 MiB
  const std::size_t free = free_bytes(), objects = live_objects();
  std::array<ncclComm_t, 2> comms{};
  EXPECT_EQ(ncclCommInitAll(comms.data(), 2, nullptr), ncclUnhandledCudaError);
  EXPECT_EQ(comms, (std::array<ncclComm_t, 2>{}));
  EXPECT_EQ(free_bytes(), free);
  EXPECT_EQ(live_objects(), objects);
}

TEST_F(StandInNcclTest, MemoryThatNothingPutsBeforeItIsAnIllegalAddress) {
  Pair pair;
  std::uint8_t* const fresh = one->allocate(1);
  pair.sum(fresh, one->side, q, other->main);
  pair.settle();
  EXPECT_EQ(cudaStreamSynchronize(one->side), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaStreamSynchronize(other->main), cudaErrorIllegalAddress) << "it waits for GPU 0";
}

TEST_F(StandInNcclTest, AStreamThatIsNoneIsRefused) {
  Pair pair;
  cudaStream_t gone = nullptr;
  OK(cudaStreamCreateWithFlags(&gone, cudaStreamNonBlocking));
  OK(cudaStreamDestroy(gone));
  EXPECT_EQ(pair.sum(p, nullptr, q, other->main), ncclInvalidArgument);
  EXPECT_EQ(pair.sum(p, gone, q, other->main), ncclInvalidArgument);
  EXPECT_EQ(pair.sum(p, other->main, q, other->main), ncclInvalidUsage);
}

}  // namespace
}  // namespace tandem::stand_in
