// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Which GPUs the process makes a context on, and which memory of the host it pins.

#include <cstdint>
#include <memory>
#include <thread>

#include <cuda_runtime_api.h>
#include <gmock/gmock.h>

#include "tandem/ops/arithmetic.hpp"
#include "tandem/runtime/buffer.hpp"
#include "tandem/runtime/event.hpp"
#include "tandem/tensor/factories.hpp"

#include "cuda/gpus.hpp"
#include "parallel/units/block_shares.hpp"

namespace tandem::cuda::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::size_t kLarge = std::size_t{300} << 10;  // bytes, that are pinned if they are input

Buffer host_buffer(std::size_t nbytes, Category category) {
  return {Device{}, nbytes, category};
}

cudaMemoryType type_of(const Buffer& buffer) {
  cudaPointerAttributes attributes{};
  EXPECT_EQ(cudaPointerGetAttributes(&attributes, buffer.data()), cudaSuccess);
  return attributes.type;
}

using ContextsTest = BareTest;

TEST_F(ContextsTest, TheHostsDevicesMakeNone) {
  configure_devices("cpu:2");
  {
    const Buffer input = host_buffer(kLarge, Category::input);
    const Buffer other = host_buffer(kLarge, Category::parameter);
  }
  logical_device(Device{}).release_cached();
  EXPECT_THAT(stand_in::contexts(), IsEmpty());
}

TEST_F(ContextsTest, AGpuThatIsNotInUseGetsNone) {
  configure_devices("cuda:1");
  const Tensor x = tensor_of({1, 2}, gpu(1));
  auto event = std::make_unique<Event>();
  auto there = std::make_unique<Tensor>(mul(x, 2));
  event->record(logical_device(gpu(1)).stream());
  std::thread([&] {  // a thread that has chosen no GPU
    static_cast<void>(event->query());
    event->wait("test");
    event.reset();
    there.reset();
    const Buffer input = host_buffer(kLarge, Category::input);
    logical_device(gpu(1)).release_cached();
  })
      .join();
  std::thread([] { logical_device(Device{}).release_cached(); }).join();
  EXPECT_EQ(x.to_doubles(), (std::vector<double>{1, 2}));
  EXPECT_THAT(stand_in::contexts(), ElementsAre(1));
}

TEST_F(ContextsTest, AThreadKeepsTheGpuThatItHasChosen) {
  configure_devices("cuda:0,cuda:1");
  auto there = std::make_unique<Tensor>(tensor_of({1, 2}, gpu(1)));
  const Tensor here = tensor_of({1, 2}, gpu(0));
  logical_device(gpu(0)).gpu()->activate();
  there.reset();
  int current = -1;
  EXPECT_EQ(cudaGetDevice(&current), cudaSuccess);
  EXPECT_EQ(current, 0);
  std::thread([&] {
    EXPECT_EQ(cudaSetDevice(1), cudaSuccess);
    Event event;
    event.record(logical_device(gpu(0)).stream());
    EXPECT_EQ(cudaSetDevice(1), cudaSuccess);
    { const Event gone; }
    EXPECT_EQ(cudaGetDevice(&current), cudaSuccess);
    EXPECT_EQ(current, 1);
  }).join();
}

using PinnedTest = GpusTest;

TEST_F(PinnedTest, InputsArePinnedAndOthersAreNot) {
  for (int i = 0; i < 3; ++i) {  // whatever the kept blocks were before
    const Buffer parameter = host_buffer(kLarge, Category::parameter);
    const Buffer input = host_buffer(kLarge, Category::input);
    EXPECT_EQ(type_of(input), cudaMemoryTypeHost);
    EXPECT_EQ(type_of(parameter), cudaMemoryTypeUnregistered);
  }
  for (int i = 0; i < 3; ++i) {
    const Buffer input = host_buffer(kLarge, Category::input);
    const Buffer parameter = host_buffer(kLarge, Category::parameter);
    EXPECT_EQ(type_of(input), cudaMemoryTypeHost);
    EXPECT_EQ(type_of(parameter), cudaMemoryTypeUnregistered);
  }
}

TEST_F(PinnedTest, SharesThatAreKeptOnTheHostArePinned) {
  constexpr std::int64_t kNumel = std::int64_t{4} << 15;
  optim::ArenaEntry entry{.name = "w", .tensor = zeros({kNumel}).requires_grad_()};
  parallel::BlockShares shares({gpu(0), gpu(1)}, Device{});
  shares.add_block(entry.tensor.detach());
  shares.add_gradients(optim::ArenaLayout({entry}));
  for (const auto of : {parallel::BlockStore::Of::values, parallel::BlockStore::Of::gradients})
    for (const int d : {0, 1})
      EXPECT_EQ(type_of(shares.at(of, 0, d).buffer()), cudaMemoryTypeHost) << d;
}

TEST_F(PinnedTest, NeighboursShareNoPage) {
  constexpr std::uintptr_t kPage = 4096;
  const Buffer first = host_buffer(70'000, Category::input);
  const Buffer second = host_buffer(70'000, Category::input);
  for (const Buffer* b : {&first, &second}) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(b->data()) % kPage, 0U);
    EXPECT_EQ(type_of(*b), cudaMemoryTypeHost);
  }
}

TEST_F(PinnedTest, WhatIsNotPinnedIsNotUnpinned) {
  {
    const Buffer other = host_buffer(kLarge, Category::parameter);
    Buffer input = host_buffer(kLarge, Category::input);
    input.recategorise(Category::activation);
  }
  logical_device(Device{}).release_cached();
  EXPECT_EQ(stand_in::call_counts()["cudaHostUnregister"], 1);
}

TEST_F(PinnedTest, ARefusalLeavesMemoryAsGood) {
  stand_in::fail_call("cudaHostRegister", 1, 2);
  {
    const Buffer input = host_buffer(kLarge, Category::input);
    EXPECT_EQ(type_of(input), cudaMemoryTypeUnregistered);
  }
  logical_device(Device{}).release_cached();
  EXPECT_EQ(stand_in::call_counts()["cudaHostUnregister"], 0);
}

}  // namespace
}  // namespace tandem::cuda::test
