// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

#include "stand_in/gpu.hpp"

namespace tandem::stand_in {
namespace {

using ::testing::Each;

using StandInMemoryTest = StandInTest;

TEST_F(StandInMemoryTest, FreshMemoryIsFilledInTheStreamsOrder) {
  std::uint8_t* const p = one->allocate(1000);
  EXPECT_THAT(one->read(p, 1000), Each(0xCD));
  EXPECT_EQ(live_bytes(0), 1000U);
  EXPECT_EQ(live_bytes(1), 0U);
}

TEST_F(StandInMemoryTest, AFreeTakesEffectInTheStreamsOrder) {
  std::uint8_t* const p = one->allocate(8);
  one->write(p, Bytes(8, 1));
  std::uint8_t last = 0;
  launch(one->main, [p, &last] { last = p[7]; });
  one->free(p);
  EXPECT_EQ(live_bytes(0), 0U);
  EXPECT_EQ(cudaFreeAsync(p, one->main), cudaErrorInvalidValue);
  OK(cudaStreamSynchronize(one->main));
  EXPECT_EQ(last, 1);
}

TEST_F(StandInMemoryTest, AStreamHasAtOnceWhatItFreed) {
  std::uint8_t* const p = one->allocate(512);
  one->free(p);
  EXPECT_EQ(one->allocate(400), p);
  void* q = nullptr;
  one->free(p);
  OK(cudaMallocFromPoolAsync(&q, 512, one->pool, one->side));
  EXPECT_NE(q, p) << "the other stream does not have it before it is freed";
  OK(cudaFreeAsync(q, one->side));
  OK(cudaStreamSynchronize(one->main));
  OK(cudaMallocFromPoolAsync(&q, 512, one->pool, one->side));
  EXPECT_EQ(q, p);
  OK(cudaFreeAsync(q, one->side));
}

/// Copies a block on the side stream, which its main stream allocates and frees.
bool copy_is_refused(Gpu& gpu, bool waits_before, bool waits_after) {
  std::uint8_t* const p = gpu.allocate(8);
  std::uint8_t* const q = gpu.allocate(8);
  if (waits_before) gpu.order(gpu.main, gpu.side);
  EXPECT_EQ(cudaMemcpyAsync(q, p, 8, cudaMemcpyDeviceToDevice, gpu.side), cudaSuccess);
  if (waits_after) gpu.order(gpu.side, gpu.main);
  gpu.free(p);
  gpu.free(q);
  const cudaError_t a = cudaStreamSynchronize(gpu.side), b = cudaStreamSynchronize(gpu.main);
  EXPECT_TRUE(a == cudaSuccess || a == cudaErrorIllegalAddress);
  reset();
  return a != cudaSuccess || b != cudaSuccess;
}

TEST_F(StandInMemoryTest, ACopyOfMemoryThatIsNotThereIsAnIllegalAddress) {
  EXPECT_EQ(count_wrong([&] { return copy_is_refused(*one, true, true); }), 0);
  EXPECT_EQ(count_wrong([&] { return copy_is_refused(*one, true, false); }), kSeeds);
  EXPECT_EQ(count_wrong([&] { return copy_is_refused(*one, false, true); }), kSeeds);
}

TEST_F(StandInMemoryTest, AFreeBeforeTheAllocationIsAnIllegalAddress) {
  const auto free_is_refused = [&] {
    std::uint8_t* const p = one->allocate(8);
    EXPECT_EQ(cudaFreeAsync(p, one->side), cudaSuccess);
    one->forget(p);
    const bool refused = cudaStreamSynchronize(one->side) != cudaSuccess;
    reset();
    EXPECT_EQ(cudaStreamSynchronize(one->main), cudaSuccess);
    return refused;
  };
  EXPECT_GT(count_wrong(free_is_refused), 0);
}

/// A byte of memory that the address sanitizer may know to be freed.
__attribute__((no_sanitize("address"))) std::uint8_t byte_at(const std::uint8_t* p) {
  return *p;
}

TEST_F(StandInMemoryTest, FreedMemoryHasNothingOfWhatWasThere) {
  std::uint8_t* const p = one->allocate(8);
  one->write(p, Bytes(8, 7));
  one->free(p);
  OK(cudaStreamSynchronize(one->main));
  int seen = 0;
  launch(one->main, [&] { seen = byte_at(p); });
  OK(cudaStreamSynchronize(one->main));
  EXPECT_NE(seen, 7);
}

TEST_F(StandInMemoryTest, TheMemoryOfAGpuIsLimited) {
  constexpr std::size_t kBlock = 512 * 1024;
  set_memory(2 * kBlock);
  std::uint8_t* const p = one->allocate(kBlock);
  one->allocate(kBlock);
  void* q = nullptr;
  EXPECT_EQ(cudaMallocFromPoolAsync(&q, 1, one->pool, one->main), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaMallocFromPoolAsync(&q, SIZE_MAX, one->pool, one->main), cudaErrorMemoryAllocation);
  other->allocate(kBlock);

  // The pool keeps what is freed for blocks of about its size; a trim gives it back.
  one->free(p);
  OK(cudaMemPoolTrimTo(one->pool, 0));
  EXPECT_EQ(cudaMallocFromPoolAsync(&q, 1, one->pool, one->main), cudaErrorMemoryAllocation);
  OK(cudaStreamSynchronize(one->main));
  std::uint64_t reserved = 0, used = 0;
  OK(cudaMemPoolGetAttribute(one->pool, cudaMemPoolAttrReservedMemCurrent, &reserved));
  OK(cudaMemPoolGetAttribute(one->pool, cudaMemPoolAttrUsedMemCurrent, &used));
  EXPECT_EQ(reserved, 2 * kBlock);
  EXPECT_EQ(used, kBlock);
  OK(cudaMemPoolTrimTo(one->pool, 0));
  OK(cudaMemPoolGetAttribute(one->pool, cudaMemPoolAttrReservedMemCurrent, &reserved));
  EXPECT_EQ(reserved, kBlock);
  one->allocate(1);
}

TEST_F(StandInMemoryTest, ADestroyedPoolGivesBackWhatIsFreedLater) {
  set_memory(1 << 20);
  cudaMemPool_t pool = nullptr;
  OK(make_pool(&pool, 0));
  void* p = nullptr;
  OK(cudaMallocFromPoolAsync(&p, 1 << 20, pool, one->main));
  OK(cudaMemPoolDestroy(pool));
  EXPECT_EQ(cudaMemPoolDestroy(pool), cudaErrorInvalidResourceHandle);
  OK(cudaFreeAsync(p, one->main));
  OK(cudaStreamSynchronize(one->main));
  one->allocate(1 << 20);
}

TEST_F(StandInMemoryTest, PageableMemoryIsReadAtTheCallAndPinnedMemoryLater) {
  std::uint8_t* const p = one->allocate(4);
  Bytes source(4, 1);
  one->write(p, source);
  std::ranges::fill(source, std::uint8_t{2});
  EXPECT_THAT(one->read(p, 4), Each(1));

  OK(cudaHostRegister(source.data(), 4, cudaHostRegisterPortable));
  one->write(p, source);
  std::ranges::fill(source, std::uint8_t{3});
  EXPECT_THAT(one->read(p, 4), Each(3));
  OK(cudaHostUnregister(source.data()));
}

TEST_F(StandInMemoryTest, ACopyToPinnedMemoryIsNotWaitedFor) {
  std::uint8_t* const p = one->allocate(4);
  void* host = nullptr;
  OK(cudaMallocHost(&host, 4));
  auto* const bytes = static_cast<std::uint8_t*>(host);
  std::fill_n(bytes, 4, std::uint8_t{7});
  OK(cudaMemcpyAsync(host, p, 4, cudaMemcpyDeviceToHost, one->main));
  EXPECT_EQ(bytes[0], 7);
  OK(cudaStreamSynchronize(one->main));
  EXPECT_EQ(bytes[0], 0xCD);
  OK(cudaFreeHost(host));
  EXPECT_EQ(cudaFreeHost(host), cudaErrorInvalidValue);
}

TEST_F(StandInMemoryTest, HostMemoryStaysPinnedUntilTheCopy) {
  std::uint8_t* const p = one->allocate(4);
  Bytes host(4);
  OK(cudaHostRegister(host.data(), 4, cudaHostRegisterPortable));
  OK(cudaMemcpyAsync(host.data(), p, 4, cudaMemcpyDeviceToHost, one->main));
  OK(cudaHostUnregister(host.data()));
  EXPECT_EQ(cudaStreamSynchronize(one->main), cudaErrorIllegalAddress);
  EXPECT_THAT(host, Each(0));
}

TEST_F(StandInMemoryTest, CopiesAreCheckedAtTheCall) {
  std::uint8_t* const p = one->allocate(8);
  std::uint8_t* const far = other->allocate(8);
  Bytes host(16);
  const auto copy = [&](void* to, const void* from, std::size_t n, cudaMemcpyKind kind) {
    return cudaMemcpyAsync(to, from, n, kind, one->main);
  };
  EXPECT_EQ(copy(p, host.data(), 8, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(copy(p + 4, host.data(), 4, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(copy(p + 4, host.data(), 5, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(copy(host.data(), p, 8, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(copy(p, p, 8, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  EXPECT_EQ(copy(p, host.data(), 8, cudaMemcpyDeviceToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(copy(host.data(), host.data(), 8, cudaMemcpyHostToHost), cudaErrorInvalidValue);
  EXPECT_EQ(copy(far, host.data(), 8, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(copy(p, p + 4, 4, cudaMemcpyDefault), cudaErrorInvalidValue);
  EXPECT_EQ(copy(nullptr, nullptr, 0, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(cudaMemcpyPeerAsync(p, 1, far, 0, 8, one->main), cudaErrorInvalidValue);
  // A part of it pinned: neither the one nor the other.
  OK(cudaHostRegister(host.data(), 4, cudaHostRegisterPortable));
  EXPECT_EQ(copy(p, host.data(), 8, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  OK(cudaHostUnregister(host.data()));
}

TEST_F(StandInMemoryTest, PointersTellWhatTheyAre) {
  std::uint8_t* const p = other->allocate(8);
  Bytes host(8);
  OK(cudaHostRegister(host.data() + 2, 4, cudaHostRegisterPortable));
  EXPECT_EQ(cudaHostRegister(host.data() + 2, 4, 0), cudaErrorHostMemoryAlreadyRegistered);
  const auto type = [](const void* at) {
    cudaPointerAttributes attributes{};
    EXPECT_EQ(cudaPointerGetAttributes(&attributes, at), cudaSuccess);
    return std::pair(attributes.type, attributes.device);
  };
  EXPECT_EQ(type(p + 7), std::pair(cudaMemoryTypeDevice, 1));
  EXPECT_EQ(type(host.data() + 1).first, cudaMemoryTypeUnregistered);
  EXPECT_EQ(type(host.data() + 2).first, cudaMemoryTypeHost);
  EXPECT_EQ(type(host.data() + 5).first, cudaMemoryTypeHost);
  EXPECT_EQ(type(host.data() + 6).first, cudaMemoryTypeUnregistered);
  OK(cudaHostUnregister(host.data() + 2));
  EXPECT_EQ(cudaHostUnregister(host.data() + 2), cudaErrorHostMemoryNotRegistered);
}

/// What a copy of 1, 2, ... from the other GPU brings.
Bytes copy_between(Gpu& one, Gpu& other, std::size_t nbytes) {
  Bytes bytes(nbytes);
  std::iota(bytes.begin(), bytes.end(), std::uint8_t{1});
  std::uint8_t* const from = other.allocate(nbytes);
  std::uint8_t* const to = one.allocate(nbytes);
  other.write(from, bytes);
  EXPECT_EQ(cudaStreamSynchronize(other.main), cudaSuccess);
  EXPECT_EQ(cudaMemcpyPeerAsync(to, 0, from, 1, nbytes, one.main), cudaSuccess);
  return one.read(to, nbytes);
}

int reach(int gpu, int peer) {
  int can = -1;
  EXPECT_EQ(cudaDeviceCanAccessPeer(&can, gpu, peer), cudaSuccess);
  return can;
}

TEST_F(StandInMemoryTest, PeersReachEachOtherOrNot) {
  const cudaMemAccessDesc access{{cudaMemLocationTypeDevice, 1}, cudaMemAccessFlagsProtReadWrite};
  EXPECT_EQ(reach(0, 1), 1);
  EXPECT_EQ(reach(0, 0), 0);
  OK(cudaMemPoolSetAccess(one->pool, &access, 1));
  EXPECT_THAT(copy_between(*one, *other, 4), ::testing::ElementsAre(1, 2, 3, 4));
  set_peers(Peers::none);
  EXPECT_EQ(reach(0, 1), 0);
  EXPECT_EQ(cudaMemPoolSetAccess(one->pool, &access, 1), cudaErrorPeerAccessUnsupported);
}

TEST_F(StandInMemoryTest, APeerMayBeRefusedThePool) {
  const cudaMemAccessDesc access{{cudaMemLocationTypeDevice, 1}, cudaMemAccessFlagsProtReadWrite};
  refuse_peer(0, 1);
  EXPECT_EQ(reach(0, 1), 1);
  EXPECT_EQ(cudaMemPoolSetAccess(one->pool, &access, 1), cudaErrorTooManyPeers);
}

TEST_F(StandInMemoryTest, AGpuMayHaveNoPools) {
  set_pools(false);
  cudaMemPool_t pool = nullptr;
  EXPECT_EQ(make_pool(&pool, 0), cudaErrorNotSupported);
}

TEST_F(StandInMemoryTest, PageableMemoryIsReadLateWherePageTablesAreShared) {
  set_host_page_tables(true);
  std::uint8_t* const p = one->allocate(4);
  Bytes source(4, 1);
  one->write(p, source);
  std::ranges::fill(source, std::uint8_t{2});
  EXPECT_THAT(one->read(p, 4), Each(2));
}

TEST_F(StandInMemoryTest, PeersCanBringWrongBytes) {
  set_peers(Peers::wrong_bytes);
  EXPECT_EQ(reach(0, 1), 1);
  EXPECT_THAT(copy_between(*one, *other, 4), ::testing::ElementsAre(1, 2, 2, 4));
}

TEST_F(StandInMemoryTest, PeersCanHang) {
  set_peers(Peers::hanging);
  EXPECT_EQ(reach(0, 1), 1);
  std::uint8_t* const from = other->allocate(4);
  std::uint8_t* const to = one->allocate(4);
  OK(cudaStreamSynchronize(other->main));
  OK(cudaMemcpyPeerAsync(to, 0, from, 1, 4, one->main));
  for (int i = 0; i < 1000; ++i)
    ASSERT_EQ(cudaStreamQuery(one->main), cudaErrorNotReady);
  EXPECT_EQ(cudaStreamSynchronize(one->main), cudaErrorTimeout);
  OK(cudaStreamSynchronize(one->side));
  OK(cudaStreamSynchronize(other->main));
  reset();
  OK(cudaStreamSynchronize(one->main));
}

TEST_F(StandInMemoryTest, TheHostCannotTouchTheMemoryOfAGpu) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const volatile std::uint8_t* const p = one->allocate(4);
  OK(cudaStreamSynchronize(one->main));
  EXPECT_DEATH(static_cast<void>(p[0]), "");
}

}  // namespace
}  // namespace tandem::stand_in
