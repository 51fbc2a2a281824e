// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/runtime/runtime.hpp"

#include <atomic>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tandem/config.hpp"
#include "tandem/core/error.hpp"
#include "tandem/runtime/buffer.hpp"

#include "thrown_text.hpp"

namespace tandem {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::thrown_text;

Device host(int index) {
  return {DeviceType::cpu, index};
}

/// Puts the default devices back at the end of a test.
class RuntimeTest : public ::testing::Test {
 protected:
  ~RuntimeTest() override {
    std::vector<DeviceSpec> specs;
    for (const Device d : before_)
      specs.push_back({d, {}});
    Runtime::instance().configure(specs);
  }

 private:
  std::vector<Device> before_ = default_devices();
};

TEST_F(RuntimeTest, ADeviceIsMadeOnceByWhoeverAsksFirst) {
  std::vector<LogicalDevice*> seen(4);
  std::vector<std::thread> threads;
  for (auto& place : seen)
    threads.emplace_back([&] { place = &logical_device(host(33)); });
  for (std::thread& t : threads)
    t.join();
  for (const LogicalDevice* d : seen)
    EXPECT_EQ(d, seen[0]);
  EXPECT_EQ(seen[0]->device(), host(33));
  EXPECT_NE(seen[0], &logical_device(host(34)));
}

TEST_F(RuntimeTest, RefusesDevicesThatCannotBe) {
  EXPECT_THAT(thrown_text([] { logical_device(host(128)); }), HasSubstr("from 0 to 127"));
  EXPECT_THAT(thrown_text([] { logical_device(host(-1)); }), HasSubstr("cpu:-1"));
  EXPECT_THAT(thrown_text([] {
                logical_device({DeviceType::cuda, 127});
              }),
              HasSubstr(has_cuda ? "no GPU 127" : "no CUDA"));
}

TEST_F(RuntimeTest, ConfigureSetsListAndLimits) {
  EXPECT_THAT(configure_devices("cpu:1@1KiB,cpu:2"), ElementsAre(host(0), host(1), host(2)));
  EXPECT_THAT(default_devices(), ElementsAre(host(0), host(1), host(2)));
  EXPECT_EQ(logical_device(host(0)).limit(), 1024u);
  EXPECT_EQ(logical_device(host(1)).limit(), SIZE_MAX);
  EXPECT_NO_THROW(Buffer(host(0), 1024, Category::input));
  EXPECT_THROW(Buffer(host(0), 1025, Category::input), OutOfMemory);
  configure_devices("cpu:1");
  EXPECT_EQ(logical_device(host(0)).limit(), SIZE_MAX)
      << "no limit in the list takes the old one off";
}

TEST_F(RuntimeTest, ABadListChangesNothing) {
  configure_devices("cpu:2@1MiB");
  Runtime& runtime = Runtime::instance();
  EXPECT_THROW(runtime.configure({}), InvalidArgument);
  EXPECT_THROW(runtime.configure({{host(0), 5}, {host(128), 5}}), InvalidArgument);
  EXPECT_THAT(thrown_text([&] {
                runtime.configure({{host(0), 5}, {host(1), 5}, {host(0), 6}});
              }),
              HasSubstr("cpu:0 is listed twice"));
  EXPECT_THAT(default_devices(), ElementsAre(host(0), host(1)));
  EXPECT_EQ(logical_device(host(0)).limit(), std::size_t{1} << 20);
}

TEST_F(RuntimeTest, LimitBelowTheBytesInUseKeepsThem) {
  LogicalDevice& device = logical_device(host(35));
  const Buffer held(host(35), 1000, Category::input);
  device.set_limit(10);
  EXPECT_THROW(Buffer(host(35), 1, Category::input), OutOfMemory);
  EXPECT_EQ(device.memory_stats().in_use, 1000u);
  device.set_limit(1001);
  EXPECT_NO_THROW(Buffer(host(35), 1, Category::input));
}

TEST_F(RuntimeTest, SequenceNumbersFollowEachOther) {
  Runtime& runtime = Runtime::instance();
  const auto first = runtime.next_sequence();
  EXPECT_EQ(runtime.next_sequence(), first + 1);
}

/// Says when it goes.
struct Marked final : LibraryState {
  Marked(int id, int& count) : number(id), deaths(count) {}
  ~Marked() override { ++deaths; }
  int number;
  int& deaths;
};

TEST_F(RuntimeTest, ALibrarysStateHasOneUserAtATime) {
  LogicalDevice& device = logical_device(host(37));
  int deaths = 0;
  EXPECT_EQ(device.take_library(Library::onednn), nullptr);
  device.give_library(Library::onednn, std::make_unique<Marked>(1, deaths));

  std::unique_ptr<LibraryState> state = device.take_library(Library::onednn);
  ASSERT_NE(state, nullptr);
  EXPECT_EQ(static_cast<Marked&>(*state).number, 1);
  EXPECT_EQ(device.take_library(Library::onednn), nullptr) << "it is in use";

  // A second user came meanwhile, with a fresh one: both find one again.
  device.give_library(Library::onednn, std::make_unique<Marked>(2, deaths));
  device.give_library(Library::onednn, std::move(state));
  const auto first = device.take_library(Library::onednn),
             second = device.take_library(Library::onednn);
  ASSERT_NE(first, nullptr);
  ASSERT_NE(second, nullptr);
  EXPECT_NE(static_cast<Marked&>(*first).number, static_cast<Marked&>(*second).number);
  EXPECT_EQ(deaths, 0);
}

TEST_F(RuntimeTest, StatesOfALibraryThatAreTooManyGo) {
  LogicalDevice& device = logical_device(host(38));
  int deaths = 0;
  for (int i = 0; i <= kKeptStates; ++i)
    device.give_library(Library::onednn, std::make_unique<Marked>(i, deaths));
  EXPECT_EQ(deaths, 1);
  for (int i = 0; i < kKeptStates; ++i)
    EXPECT_NE(device.take_library(Library::onednn), nullptr);
  EXPECT_EQ(device.take_library(Library::onednn), nullptr);
}

/// Counts what it is told, on any thread.
class Counter final : public Observer {
 public:
  void on_memory(const MemoryEvent&) noexcept override { count.fetch_add(1); }
  std::atomic<int> count{0};
};

TEST_F(RuntimeTest, ObserversComeAndGoWhileDevicesWork) {
  std::atomic<bool> stop{false};
  Counter always;
  const Subscription subscription(always);
  Counter passing;  // outlives the worker, which may still hold the list of a moment ago
  std::atomic<int> made{0};
  std::thread device([&] {
    do {
      const Buffer x(host(36), 64, Category::input);
      made.fetch_add(1);
    } while (!stop);
  });
  for (int i = 0; i < 200; ++i)
    const Subscription other(passing);
  stop = true;
  device.join();
  EXPECT_EQ(always.count, 2 * made);
}

}  // namespace
}  // namespace tandem
