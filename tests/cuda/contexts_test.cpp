// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Which GPUs the process makes a context on.

#include <cstdint>
#include <memory>
#include <thread>

#include <cuda_runtime_api.h>
#include <gmock/gmock.h>

#include "tandem/ops/arithmetic.hpp"
#include "tandem/runtime/buffer.hpp"
#include "tandem/runtime/event.hpp"

#include "cuda/gpus.hpp"

namespace tandem::cuda::test {
namespace {

using ::testing::ElementsAre;

using ContextsTest = BareTest;

TEST_F(ContextsTest, AGpuThatIsNotInUseGetsNone) {
  configure_devices("cuda:1");
  const Tensor x = tensor_of({1, 2}, gpu(1));
  auto event = std::make_unique<Event>();
  auto there = std::make_unique<Tensor>(mul(x, 2));
  event->record(logical_device(gpu(1)).stream());
  std::thread([&] {  // a thread that has chosen no GPU
    EXPECT_TRUE(event->query() || true);
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
  logical_device(gpu(0)).cuda()->activate();
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

}  // namespace
}  // namespace tandem::cuda::test
