// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/runtime/dispatch.hpp"

#include <array>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tandem/core/error.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/runtime/observer.hpp"
#include "tandem/runtime/runtime.hpp"

#include "thrown_text.hpp"

namespace tandem {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::thrown_text;

constexpr Device kFirst{DeviceType::cpu, 0};
constexpr Device kSecond{DeviceType::cpu, 1};

Work work_of(Buffer& read, Buffer& written) {
  Work work{.kind = Work::Kind::custom, .name = "my_op"};
  work.accesses.add({&read, read.nbytes(), Direction::read});
  work.accesses.add({&written, written.nbytes(), Direction::write});
  return work;
}

/// Writes down all that it is told.
class Recorder final : public Observer {
 public:
  void on_memory(const MemoryEvent& e) noexcept override {
    const char* kinds[] = {"allocate", "free", "recategorise"};
    add(kinds[static_cast<int>(e.kind)], e.device, e.nbytes, name(e.category));
  }
  void on_copy(const CopyEvent& e) noexcept override {
    add("copy from " + to_string(e.source) + " in " + name(e.phase),
        e.destination,
        e.nbytes,
        name(e.category));
  }
  void on_work_begin(const Work& w, const Stream& s) noexcept override {
    add("begin", s.device(), 0, w.name);
  }
  void on_work_end(const Work& w, const Stream& s) noexcept override {
    add("end", s.device(), 0, w.name);
  }
  void on_read(const char* op, Device d, std::size_t n) noexcept override { add("read", d, n, op); }

  std::vector<std::string> seen;

 private:
  void add(const std::string& what, Device device, std::size_t nbytes, const std::string& how) {
    seen.push_back(what + ' ' + to_string(device) + ' ' + std::to_string(nbytes) + ' ' + how);
  }
};

TEST(Dispatch, RunsAtOnceWithTheCallersThreadsAndPath) {
  Buffer x(kFirst, 8, Category::input);
  Buffer y(kFirst, 8, Category::output);
  const ContextScope scope([](Context& c) {
    c.threads = 3;
    c.path = KernelPath::native;
  });
  HostStream seen;
  dispatch(logical_device(kFirst).stream(), work_of(x, y), [&](HostStream& s) { seen = s; });
  EXPECT_EQ(seen.device, kFirst);
  EXPECT_EQ(seen.threads, 3);
  EXPECT_EQ(seen.path, KernelPath::native);
}

TEST(Dispatch, BumpsTheVersionOfWhatIsWritten) {
  Buffer x(kFirst, 8, Category::input);
  Buffer y(kFirst, 8, Category::output);
  dispatch(logical_device(kFirst).stream(), work_of(x, y), [](HostStream&) {});
  EXPECT_EQ(x.version(), 0u);
  EXPECT_EQ(y.version(), 1u);
  Work both{.name = "in_place"};
  both.accesses.add({&x, 8, Direction::read_write});
  dispatch(logical_device(kFirst).stream(), both, [](HostStream&) {});
  EXPECT_EQ(x.version(), 1u);
  EXPECT_THROW(dispatch(logical_device(kFirst).stream(), both, [](HostStream&) { throw 42; }), int);
  EXPECT_EQ(x.version(), 2u) << "a kernel that failed may have written";
}

TEST(Dispatch, RefusesBuffersOfAnotherDevice) {
  Buffer x(kSecond, 8, Category::input);
  Buffer y(kFirst, 8, Category::output);
  bool ran = false;
  const auto run = [&] {
    dispatch(logical_device(kFirst).stream(), work_of(x, y), [&](HostStream&) { ran = true; });
  };
  EXPECT_THAT(
      thrown_text(run),
      AllOf(
          HasSubstr("my_op"), HasSubstr("cpu:1"), HasSubstr("cpu:0"), HasSubstr("TANDEM_MODULE")));
  const ContextScope scope(
      [](Context& c) { c.module_path = std::make_shared<const std::string>("net.fc"); });
  EXPECT_THAT(thrown_text(run), HasSubstr("(module net.fc)"));
  EXPECT_FALSE(ran);
  EXPECT_EQ(y.version(), 0u);
}

/// A transit of bytes [begin, end) that notes its wait in `log`.
Transit noted(std::size_t begin, std::size_t end, Transit::Way way, std::vector<std::size_t>& log) {
  return {begin, end, way, [begin, &log] { log.push_back(begin); }};
}

TEST(Dispatch, WaitsForBytesOnTheirWay) {
  Buffer x(kFirst, sizeof(int), Category::input);
  Buffer y(kFirst, sizeof(int), Category::output);
  x.transits().add({0, sizeof(int), Transit::Way::in, [&] { *static_cast<int*>(x.data()) = 7; }});
  int seen = 0;
  dispatch(logical_device(kFirst).stream(), work_of(x, y), [&](HostStream&) {
    seen = *static_cast<int*>(x.data());
  });
  EXPECT_EQ(seen, 7);
  EXPECT_FALSE(x.transits().any());
}

TEST(Dispatch, WaitsForWhatItTouchesAlone) {
  Buffer x(kFirst, 12, Category::input);
  Buffer y(kFirst, 12, Category::output);
  std::vector<std::size_t> log;
  for (const std::size_t begin : {0, 4, 8})
    x.transits().add(noted(begin, begin + 4, Transit::Way::in, log));
  Work work = work_of(x, y);
  work.accesses = {};
  work.accesses.add({&x, 4, Direction::read, 4, 8});
  dispatch(logical_device(kFirst).stream(), work, [](HostStream&) {});
  EXPECT_THAT(log, ElementsAre(4u));
  char bytes[4];
  read(x, 8, bytes, 4, "item");
  EXPECT_THAT(log, ElementsAre(4u, 8u));
  copy_bytes(y, 0, x, 2, 2);
  EXPECT_THAT(log, ElementsAre(4u, 8u, 0u));
  EXPECT_FALSE(x.transits().any());
}

TEST(Dispatch, ReadsBytesThatAreSentAndWaitsToWriteThem) {
  Buffer x(kFirst, 4, Category::input);
  Buffer y(kFirst, 4, Category::output);
  std::vector<std::size_t> log;
  x.transits().add(noted(0, 4, Transit::Way::out, log));
  dispatch(logical_device(kFirst).stream(), work_of(x, y), [](HostStream&) {});
  EXPECT_TRUE(log.empty());
  write("abc", x, 0, 3);
  EXPECT_EQ(log.size(), 1u);
}

TEST(Dispatch, AWaitThatFailsIsNotForgotten) {
  Buffer x(kFirst, 4, Category::input);
  Buffer y(kFirst, 4, Category::output);
  x.transits().add({0, 4, Transit::Way::in, [] { throw Timeout("late"); }});
  const auto run = [&] {
    dispatch(logical_device(kFirst).stream(), work_of(x, y), [](HostStream&) {});
  };
  EXPECT_THROW(run(), Timeout);
  EXPECT_THROW(write("abc", x, 0, 3), Timeout) << "it would be overtaken by the bytes on their way";
  x.transits().clear();
  run();
}

TEST(Observer, SeesMemoryWorkAndReads) {
  Recorder recorder;
  {
    const Subscription subscription(recorder);
    Buffer x(kFirst, 8, Category::input);
    Buffer y(kFirst, 16, Category::activation);
    dispatch(logical_device(kFirst).stream(), work_of(x, y), [](HostStream&) {});
    y.recategorise(Category::output);
    std::array<char, 4> host{};
    read(x, 2, host.data(), host.size(), "to_host");
  }
  EXPECT_THAT(recorder.seen,
              ElementsAre("allocate cpu:0 8 input",
                          "allocate cpu:0 16 activation",
                          "begin cpu:0 0 my_op",
                          "end cpu:0 0 my_op",
                          "recategorise cpu:0 16 output",
                          "read cpu:0 4 to_host",
                          "free cpu:0 16 output",
                          "free cpu:0 8 input"));
  recorder.seen.clear();
  const Buffer unseen(kFirst, 8, Category::input);
  EXPECT_THAT(recorder.seen, IsEmpty()) << "the subscription has ended";
}

TEST(Observer, WorkThatThrowsIsEnded) {
  Buffer x(kFirst, 8, Category::input);
  Buffer y(kFirst, 8, Category::output);
  Recorder recorder;
  const Subscription subscription(recorder);
  EXPECT_THROW(
      dispatch(logical_device(kFirst).stream(), work_of(x, y), [](HostStream&) { throw 42; }), int);
  EXPECT_THAT(recorder.seen, ElementsAre("begin cpu:0 0 my_op", "end cpu:0 0 my_op"));
}

TEST(Observer, SeveralAreCalledAndLeaveOneByOne) {
  Recorder a;
  Recorder b;
  const Subscription first(a);
  {
    const Subscription second(b);
    const Buffer x(kFirst, 8, Category::input);
  }
  const Buffer y(kFirst, 8, Category::input);
  EXPECT_EQ(a.seen.size(), 3u);
  EXPECT_EQ(b.seen.size(), 2u);
}

TEST(CopyBytes, CopiesAndCountsBetweenDevicesOnly) {
  Buffer x(kFirst, 8, Category::parameter);
  Buffer y(kSecond, 8, Category::gradient);
  Buffer z(kFirst, 8, Category::workspace);
  write("abcdefgh", x, 0, 8);
  write("........", y, 0, 8);
  EXPECT_EQ(x.version(), 1u);

  Recorder recorder;
  {
    const Subscription subscription(recorder);
    const ContextScope scope([](Context& c) { c.phase = Phase::replicate; });
    copy_bytes(x, 2, y, 1, 5);
    copy_bytes(x, 0, z, 0, 8);
    copy_bytes(x, 0, y, 0, 0);
  }
  EXPECT_THAT(recorder.seen, ElementsAre("copy from cpu:0 in replicate cpu:1 5 gradient"));
  std::string host(8, ' ');
  read(y, 0, host.data(), 8, "test");
  EXPECT_EQ(host, ".cdefg..");
  EXPECT_EQ(y.version(), 3u);
  EXPECT_THROW(copy_bytes(x, 4, y, 0, 5), InternalError);
  EXPECT_THROW(read(x, 8, host.data(), 1, "test"), InternalError);
  EXPECT_THROW(write("a", x, 8, 1), InternalError);
}

TEST(AccessList, RefusesOneTooMany) {
  Buffer x(kFirst, 8, Category::input);
  AccessList list;
  for (int i = 0; i < AccessList::kCapacity; ++i)
    list.add({&x, 8, Direction::read});
  EXPECT_THROW(list.add({&x, 8, Direction::read}), InternalError);
}

}  // namespace
}  // namespace tandem
