// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/runtime/allocator.hpp"

#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tandem/core/error.hpp"
#include "tandem/runtime/buffer.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/runtime/runtime.hpp"

#include "thrown_text.hpp"

namespace tandem {
namespace {

using ::testing::HasSubstr;
using testing::thrown_text;

/// A device of its own for each test, so that none sees another's bytes.
Device fresh_device() {
  static int next = 40;
  return {DeviceType::cpu, next++};
}

std::size_t sum(const std::array<std::size_t, kCategories>& by) {
  return std::accumulate(by.begin(), by.end(), std::size_t{0});
}

TEST(LimitAllocator, GivesExactlyTheLimit) {
  LimitAllocator limited(std::make_unique<SystemAllocator>("cpu:9"), "cpu:9");
  limited.set_limit(1000);
  void* a = limited.allocate(999, Category::activation);
  void* b = limited.allocate(1, Category::activation);
  EXPECT_THROW(limited.allocate(1, Category::activation), OutOfMemory);
  limited.deallocate(b, 1, Category::activation);
  b = limited.allocate(1, Category::activation);
  limited.deallocate(a, 999, Category::activation);
  limited.deallocate(b, 1, Category::activation);
}

TEST(LimitAllocator, SurvivesSizesThatWrap) {
  LimitAllocator limited(
      std::make_unique<CachingAllocator>(std::make_unique<SystemAllocator>("cpu:9")), "cpu:9");
  limited.set_limit(1000);
  void* a = limited.allocate(600, Category::activation);
  for (const std::size_t nbytes : {SIZE_MAX, SIZE_MAX - 599, SIZE_MAX / 2 + 2}) {
    EXPECT_THROW(limited.allocate(nbytes, Category::activation), OutOfMemory) << nbytes;
  }
  limited.set_limit(SIZE_MAX);
  for (const std::size_t nbytes : {SIZE_MAX - 600, SIZE_MAX - 4096, SIZE_MAX / 2 + 2}) {
    EXPECT_THROW(limited.allocate(nbytes, Category::activation), OutOfMemory) << nbytes;
  }
  limited.deallocate(a, 600, Category::activation);
}

/// The system's memory, with its calls counted.
class CountedMemory final : public Allocator {
 public:
  explicit CountedMemory(int& calls) : calls_(calls) {}
  void* allocate(std::size_t nbytes, Category category) override {
    ++calls_;
    return system_.allocate(nbytes, category);
  }
  void deallocate(void* p, std::size_t nbytes, Category category) noexcept override {
    system_.deallocate(p, nbytes, category);
  }

 private:
  int& calls_;
  SystemAllocator system_{"cpu:9"};
};

TEST(CachingAllocator, SteadyLoopStaysOffTheUpstream) {
  int calls = 0;
  CachingAllocator caching(std::make_unique<CountedMemory>(calls));
  const auto loop = [&] {
    std::vector<void*> blocks;
    for (const std::size_t n : {1, 300, 5000, 5001, 1'000'000}) {
      void* p = caching.allocate(n, Category::activation);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p) % Allocator::kAlignment, 0u);
      std::memset(p, 1, n);
      blocks.push_back(p);
    }
    std::size_t i = 0;
    for (const std::size_t n : {1, 300, 5000, 5001, 1'000'000})
      caching.deallocate(blocks[i++], n, Category::activation);
  };
  loop();
  const int first = calls;
  for (int i = 0; i < 20; ++i)
    loop();
  EXPECT_EQ(calls, first);
  caching.release_cached();
  loop();
  EXPECT_EQ(calls, 2 * first);
  EXPECT_EQ(caching.system_calls(), static_cast<std::uint64_t>(calls));
}

/// An upstream with room for a number of bytes, as a real device has.
class SmallMemory final : public Allocator {
 public:
  explicit SmallMemory(std::size_t room) : room_(room) {}
  void* allocate(std::size_t nbytes, Category) override {
    if (nbytes > room_) throw OutOfMemory("small", nbytes, 0, SIZE_MAX, {});
    room_ -= nbytes;
    return ::operator new(nbytes);
  }
  void deallocate(void* p, std::size_t nbytes, Category) noexcept override {
    room_ += nbytes;
    ::operator delete(p);
  }

 private:
  std::size_t room_;
};

TEST(CachingAllocator, GivesKeptBlocksBackWhenMemoryIsShort) {
  CachingAllocator caching(std::make_unique<SmallMemory>(8192));
  void* a = caching.allocate(6000, Category::activation);
  caching.deallocate(a, 6000, Category::activation);
  void* b = nullptr;
  EXPECT_NO_THROW(b = caching.allocate(8000, Category::activation));
  EXPECT_THROW(caching.allocate(300, Category::activation), OutOfMemory);
  caching.deallocate(b, 8000, Category::activation);
}

TEST(DeviceMemory, StatisticsSumToInUse) {
  const Device device = fresh_device();
  LogicalDevice& logical = logical_device(device);
  {
    const Buffer a(device, 1000, Category::parameter);
    Buffer b(device, 500, Category::activation);
    const Buffer none(device, 0, Category::activation);
    EXPECT_EQ(none.data(), nullptr);
    MemoryStats stats = logical.memory_stats();
    EXPECT_EQ(stats.in_use, 1500u);
    EXPECT_EQ(sum(stats.by_category), 1500u);
    EXPECT_EQ(stats.by_category[static_cast<std::size_t>(Category::parameter)], 1000u);
    EXPECT_EQ(stats.allocations, 2u);

    b.recategorise(Category::output);
    stats = logical.memory_stats();
    EXPECT_EQ(b.category(), Category::output);
    EXPECT_EQ(stats.by_category[static_cast<std::size_t>(Category::activation)], 0u);
    EXPECT_EQ(stats.by_category[static_cast<std::size_t>(Category::output)], 500u);
    EXPECT_EQ(sum(stats.by_category), stats.in_use);
  }
  MemoryStats stats = logical.memory_stats();
  EXPECT_EQ(stats.in_use, 0u);
  EXPECT_EQ(sum(stats.by_category), 0u);
  EXPECT_EQ(stats.peak, 1500u);
  EXPECT_EQ(sum(stats.peak_by_category), stats.peak);
  logical.reset_peak();
  EXPECT_EQ(logical.memory_stats().peak, 0u);
}

TEST(DeviceMemory, OutOfMemoryHasFiguresAndLargestOwners) {
  const Device device = fresh_device();
  LogicalDevice& logical = logical_device(device);
  logical.set_limit(10'000);
  const auto path = [](const char* text) {
    return [text](Context& c) { c.module_path = std::make_shared<const std::string>(text); };
  };
  std::vector<std::unique_ptr<Buffer>> buffers;
  {
    const ContextScope scope(path("net.conv1"));
    buffers.push_back(std::make_unique<Buffer>(device, 3000, Category::parameter));
    const ModuleShares shares{{"net.conv1", 1500}, {"net.conv2", 500}};
    buffers.push_back(std::make_unique<Buffer>(
        device, 2000, Category::parameter, std::make_shared<const ModuleShares>(shares)));
  }
  {
    const ContextScope scope(path("net.head"));
    buffers.push_back(std::make_unique<Buffer>(device, 4000, Category::activation));
  }
  buffers.push_back(std::make_unique<Buffer>(device, 600, Category::workspace));
  buffers.push_back(std::make_unique<Buffer>(device, 300, Category::input));

  try {
    const Buffer more(device, 101, Category::activation);
    FAIL() << "101 bytes do not fit";
  } catch (const OutOfMemory& e) {
    EXPECT_EQ(e.device(), to_string(device));
    EXPECT_EQ(e.asked(), 101u);
    EXPECT_EQ(e.in_use(), 9900u);
    EXPECT_EQ(e.limit(), 10'000u);
    ASSERT_EQ(e.owners().size(), 3u);
    EXPECT_EQ(e.owners()[0].name, "parameter of net.conv1");
    EXPECT_EQ(e.owners()[0].nbytes, 4500u);
    EXPECT_EQ(e.owners()[1].name, "activation of net.head");
    EXPECT_EQ(e.owners()[2].name, "workspace");
    EXPECT_THAT(e.what(), HasSubstr("net.conv1"));
  }
  EXPECT_EQ(logical.memory_stats().in_use, 9900u) << "a refused request changes nothing";
  EXPECT_NO_THROW(Buffer(device, 100, Category::activation));
  buffers.clear();
  EXPECT_EQ(logical.memory_stats().in_use, 0u);
}

/// Fails the k-th allocation.
class FailingOnce final : public Allocator {
 public:
  FailingOnce(Allocator& upstream, int k) : upstream_(upstream), left_(k) {}
  void* allocate(std::size_t nbytes, Category category) override {
    if (--left_ == 0) throw OutOfMemory("cpu", nbytes, 0, SIZE_MAX, {});
    return upstream_.allocate(nbytes, category);
  }
  void deallocate(void* p, std::size_t nbytes, Category category) noexcept override {
    upstream_.deallocate(p, nbytes, category);
  }

 private:
  Allocator& upstream_;
  int left_;
};

TEST(DeviceMemory, WrapperStandsBeforeTheDevicesAllocator) {
  const Device device = fresh_device();
  LogicalDevice& logical = logical_device(device);
  logical.set_wrapper([](Allocator& own) { return std::make_unique<FailingOnce>(own, 2); });
  auto a = std::make_unique<Buffer>(device, 64, Category::activation);
  EXPECT_THROW(Buffer(device, 64, Category::activation), OutOfMemory);
  EXPECT_NO_THROW(Buffer(device, 64, Category::activation));
  logical.set_wrapper(nullptr);
  EXPECT_EQ(logical.memory_stats().in_use, 64u);
  a.reset();
  EXPECT_EQ(logical.memory_stats().in_use, 0u);
}

TEST(DeviceMemory, TwoThreadsKeepTheSums) {
  const Device device = fresh_device();
  const auto churn = [&](Category category) {
    for (int i = 1; i <= 500; ++i) {
      Buffer a(device, static_cast<std::size_t>(i), category);
      a.recategorise(Category::workspace);
      const Buffer b(device, static_cast<std::size_t>(2 * i), category);
    }
  };
  std::thread other([&] { churn(Category::input); });
  churn(Category::output);
  other.join();
  const MemoryStats stats = logical_device(device).memory_stats();
  EXPECT_EQ(stats.in_use, 0u);
  EXPECT_EQ(sum(stats.by_category), 0u);
  EXPECT_EQ(stats.allocations, 2000u);
  EXPECT_EQ(sum(stats.peak_by_category), stats.peak);
}

}  // namespace
}  // namespace tandem
