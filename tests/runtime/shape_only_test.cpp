// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Devices that account for memory and compute nothing.
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tandem/core/error.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/runtime/dispatch.hpp"
#include "tandem/runtime/observer.hpp"
#include "tandem/runtime/runtime.hpp"

#include "runtime/cpu.hpp"
#include "thrown_text.hpp"

namespace tandem {
namespace {

using ::testing::AllOf;
using testing::cpu;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::thrown_text;

// More than there is to take, and little enough for the half TiB of addresses that the thread
// sanitizer leaves where the kernel maps low.
constexpr std::size_t kHuge = std::size_t{256} << 30;
const Device kReal = cpu(5);  // not in any list

class ShapeOnly : public ::testing::Test {
 protected:
  void SetUp() override { configure_devices("cpu:2@shape-only"); }
  void TearDown() override { configure_devices("cpu:2"); }
};

/// What observers hear, in short.
struct Heard final : Observer {
  void on_copy(const CopyEvent& e) noexcept override { list.push_back(std::to_string(e.nbytes)); }
  void on_work_begin(const Work& w, const Stream&) noexcept override { list.emplace_back(w.name); }
  void on_work_end(const Work& w, const Stream&) noexcept override { list.emplace_back(w.name); }
  void on_read(const char* op, Device, std::size_t) noexcept override { list.emplace_back(op); }
  std::vector<std::string> list;
};

Work writes(Buffer& buffer, const char* name = "my_op") {
  Work work{.kind = Work::Kind::custom, .name = name};
  work.accesses.add({&buffer, buffer.nbytes(), Direction::write});
  return work;
}

TEST(ShapeOnlyList, IsAsked) {
  const auto list = parse_devices("cpu:2@16GiB@shape-only");
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[1].limit, std::size_t{16} << 30);
  EXPECT_FALSE(list[0].has_data);
  EXPECT_FALSE(list[1].has_data);
  EXPECT_TRUE(parse_devices("cpu:2@16GiB")[0].has_data);
}

TEST(ShapeOnlyList, RefusesOtherForms) {
  for (const std::string suffix : {"shape-only@1GiB",
                                   "1GiB@1GiB@shape-only",
                                   "@shape-only",
                                   "shape-only@shape-only",
                                   "shapeonly"})
    EXPECT_THAT(thrown_text<InvalidArgument>([&] { parse_devices("cpu:2@" + suffix); }),
                HasSubstr("expected a positive number of bytes"))
        << suffix;
}

TEST(ShapeOnlyList, HasNoDevicesWithDataAndChangesNothing) {
  configure_devices("cpu:2@1GiB");
  EXPECT_THAT(
      thrown_text<InvalidArgument>([] { configure_devices("cpu:1@shape-only,cpu:1@2GiB"); }),
      AllOf(HasSubstr("cpu:1 has data"), HasSubstr("cpu:0 is shape-only")));
  EXPECT_TRUE(logical_device(cpu(0)).has_data());
  EXPECT_EQ(logical_device(cpu(0)).limit(), std::size_t{1} << 30);
  configure_devices("cpu:2");
}

TEST_F(ShapeOnly, MemoryIsCountedAndLimitedButNotTaken) {
  const std::size_t before = logical_device(cpu(1)).memory_stats().in_use;
  const Buffer a(cpu(1), kHuge, Category::parameter), b(cpu(1), 1, Category::gradient);
  EXPECT_NE(a.data(), nullptr);
  EXPECT_NE(a.data(), b.data());
  const MemoryStats stats = logical_device(cpu(1)).memory_stats();
  EXPECT_EQ(stats.in_use, before + kHuge + 1);
  EXPECT_EQ(stats.by_category[static_cast<std::size_t>(Category::parameter)], kHuge);
  EXPECT_FALSE(a.has_data());
  configure_devices("cpu:2@400GiB@shape-only");
  EXPECT_THROW(Buffer(cpu(1), kHuge, Category::parameter), OutOfMemory);
}

TEST_F(ShapeOnly, TouchingMemoryEndsTheProgram) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        configure_devices("cpu:2@shape-only");
        const Buffer a(cpu(1), 64, Category::parameter);
        *static_cast<volatile char*>(a.data()) = 1;
      },
      "");
}

TEST_F(ShapeOnly, WorkIsCheckedAndCountedButNotDone) {
  Buffer a(cpu(0), 64, Category::activation);
  Heard heard;
  const Subscription subscription(heard);
  bool ran = false;
  dispatch(logical_device(cpu(0)).stream(), writes(a), [&](HostStream&) { ran = true; });
  EXPECT_FALSE(ran);
  EXPECT_EQ(a.version(), 1U);
  EXPECT_THAT(heard.list, ElementsAre("my_op", "my_op"));
  EXPECT_THROW(dispatch(logical_device(cpu(1)).stream(), writes(a), [](HostStream&) {}),
               InvalidArgument)
      << "another device";
}

TEST_F(ShapeOnly, KernelsTakeTheirWorkspace) {
  Buffer a(cpu(0), 64, Category::activation);
  Work work = writes(a);
  work.takes_workspace = true;
  logical_device(cpu(0)).reset_peak();
  const std::size_t before = logical_device(cpu(0)).memory_stats().peak;
  bool computes = true;
  dispatch(logical_device(cpu(0)).stream(), work, [&](HostStream& s) {
    const Buffer workspace(s.device, 1000, Category::workspace);
    computes = s.computes;
  });
  EXPECT_FALSE(computes);
  EXPECT_EQ(logical_device(cpu(0)).memory_stats().peak, before + 1000);
}

TEST_F(ShapeOnly, ReadsThrowNoDataThatNamesTheOp) {
  const Buffer a(cpu(1), 64, Category::activation);
  Heard heard;
  const Subscription subscription(heard);
  char byte = 7;
  EXPECT_THAT(thrown_text<NoData>([&] { read(a, 0, &byte, 1, "my_read"); }),
              AllOf(HasSubstr("my_read"), HasSubstr("cpu:1"), HasSubstr("@shape-only")));
  EXPECT_EQ(byte, 7);
  EXPECT_THAT(heard.list, IsEmpty());
}

TEST_F(ShapeOnly, CopiesToItCountAndCopiesFromItToDataThrow) {
  Buffer real(kReal, 64, Category::input), a(cpu(0), 64, Category::input),
      b(cpu(1), 64, Category::input);
  Heard heard;
  const Subscription subscription(heard);
  const std::vector<char> bytes(64, 1);
  write(bytes.data(), real, 0, 64);
  write(bytes.data(), a, 0, 64);
  copy_bytes(real, 0, a, 0, 40);
  copy_bytes(a, 0, b, 0, 30);
  EXPECT_EQ(a.version(), 2U);
  EXPECT_THAT(heard.list, ElementsAre("40", "30"));
  EXPECT_THAT(thrown_text<NoData>([&] { copy_bytes(a, 0, real, 0, 64); }), HasSubstr("copy"));
  EXPECT_EQ(real.version(), 1U);
  char byte = 0;
  read(real, 63, &byte, 1, "test");
  EXPECT_EQ(byte, 1);
}

TEST_F(ShapeOnly, ValuesThatDecideKeepTheirData) {
  const ContextScope scope([](Context& c) { c.keeps_data = true; });
  Buffer a(cpu(1), 64, Category::activation);
  char byte = 3;
  write(&byte, a, 5, 1);
  byte = 0;
  read(a, 5, &byte, 1, "test");
  EXPECT_EQ(byte, 3);
}

TEST_F(ShapeOnly, MemoryFromBeforeStaysAndLosesItsDataToWorkWithoutData) {
  configure_devices("cpu:2");
  Buffer old(cpu(0), 64, Category::activation);
  const char byte = 9;
  write(&byte, old, 0, 1);
  configure_devices("cpu:2@shape-only");
  Buffer fresh(cpu(0), 64, Category::activation);
  char seen = 0;
  read(old, 0, &seen, 1, "test");
  EXPECT_EQ(seen, 9);
  bool ran = false;
  dispatch(logical_device(cpu(0)).stream(), writes(old), [&](HostStream&) { ran = true; });
  EXPECT_TRUE(ran) << "it touches data alone";
  Work mixed = writes(old);
  mixed.accesses.add({&fresh, 64, Direction::read});
  dispatch(logical_device(cpu(0)).stream(), mixed, [](HostStream&) { FAIL(); });
  EXPECT_THROW(read(old, 0, &seen, 1, "test"), NoData) << "what stands there is stale";
}

}  // namespace
}  // namespace tandem
