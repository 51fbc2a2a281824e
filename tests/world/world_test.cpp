// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/world/world.hpp"

#include <filesystem>
#include <functional>
#include <thread>

#include <gmock/gmock.h>
#include <unistd.h>

#include "tandem/core/error.hpp"
#include "tandem/world/file_store.hpp"
#include "tandem/world/store_server.hpp"

#include "thrown_text.hpp"
#include "world/meeting_place.hpp"

namespace tandem::world::test {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using testing::thrown_text;
using namespace std::chrono_literals;

/// Where processes may meet; here each is a thread.
class WorldTest : public ::testing::TestWithParam<const char*> {
 protected:
  ~WorldTest() override { std::filesystem::remove(path); }

  std::string url(int rank, int size) const {
    const std::string who = "?rank=" + std::to_string(rank) + "&world_size=" + std::to_string(size);
    if (GetParam() == std::string("file")) return "file://" + path + who;
    return "tcp://" + to_string(free_place) + who;
  }
  /// What each of some ranks throws, "" for nothing.
  std::vector<std::string> texts_of(
      const std::vector<std::string>& urls,
      const std::function<WorldOptions(std::size_t)>& options,
      const std::function<void(World&)>& run = [](World&) {}) const {
    std::vector<std::string> texts(urls.size());
    {
      std::vector<std::jthread> threads;
      for (std::size_t i = 0; i < urls.size(); ++i)
        threads.emplace_back([&, i] {
          try {
            World world(urls[i], options(i));
            run(world);
          } catch (const Error& e) {
            texts[i] = e.what();
          }
        });
    }
    return texts;
  }

  Address free_place = StoreServer({"127.0.0.1", 0}).address();
  std::string path =
      (std::filesystem::temp_directory_path() / ("tandem-world-" + std::to_string(::getpid())))
          .string();
};

INSTANTIATE_TEST_SUITE_P(Places,
                         WorldTest,
                         ::testing::Values("tcp", "file"),
                         [](const auto& place) { return std::string(place.param); });

WorldOptions patient(std::size_t) {
  return {.timeout = 20s};
}

TEST_P(WorldTest, AllMeetAndKnowEachOther) {
  const std::vector<std::string> urls{url(2, 3), url(0, 3), url(1, 3)};
  const auto texts = texts_of(urls, patient, [](World& world) {
    EXPECT_EQ(world.size(), 3);
    ASSERT_EQ(world.peers().size(), 3u);
    EXPECT_EQ(world.peers()[1].rank, 1);
    EXPECT_EQ(world.peers()[1].pid, ::getpid());
    EXPECT_EQ(world.store().add("n", 0), 0);
    world.barrier();
    world.store().add("n", 1);
    world.barrier();
    EXPECT_EQ(world.store().add("n", 0), 3);
    const auto clock = world.clock_offset();
    ASSERT_TRUE(clock);
    EXPECT_LE(std::chrono::abs(clock->offset), clock->error) << "all have one clock";
    EXPECT_EQ(clock->error.count() == 0, world.rank() == 0);
    EXPECT_EQ(world.store().compare_set("run", "", world.run()), world.run());
  });
  EXPECT_THAT(texts, Each(""));
  EXPECT_FALSE(std::filesystem::exists(path)) << "the last one removes it";
}

TEST_P(WorldTest, WhoIsMissingIsNamed) {
  const std::vector<std::string> urls{url(0, 4), url(2, 4)};
  const auto texts = texts_of(urls, [](std::size_t) { return WorldOptions{.timeout = 300ms}; });
  EXPECT_THAT(texts[0], AllOf(HasSubstr("300 ms"), HasSubstr("rank 1, 3 have not come")));
}

TEST_P(WorldTest, ARankThatIsThereTwiceIsNamed) {
  const std::vector<std::string> urls{url(0, 2), url(1, 2), url(1, 2)};
  const auto stay = [](World&) { std::this_thread::sleep_for(300ms); };
  const auto texts = texts_of(urls, patient, stay);
  EXPECT_THAT(texts[1] + texts[2], HasSubstr("rank 1 is there already: pid"));
}

TEST_P(WorldTest, ADifferenceIsToldToAllWithBothValues) {
  const std::vector<std::string> urls{url(0, 3), url(1, 3), url(2, 3)};
  const auto texts = texts_of(urls, [](std::size_t i) {
    return WorldOptions{.timeout = 20s, .contract = {{"model", i == 2 ? "cnn" : "gpt"}}};
  });
  EXPECT_THAT(texts,
              Each(AllOf(HasSubstr("differ in 'model': 'gpt' in process 0"),
                         HasSubstr("'cnn' in process 2"))));
}

TEST_P(WorldTest, AnotherWorldSizeIsADifference) {
  const auto texts =
      texts_of({url(0, 2), url(1, 3)}, [](std::size_t) { return WorldOptions{.timeout = 500ms}; });
  EXPECT_THAT(texts,
              Each(AllOf(HasSubstr("differ in 'world size': '2' in process 0"),
                         HasSubstr("'3' in process 1"))));
}

TEST_P(WorldTest, ADifferenceIsToldAlsoWhereOthersAreMissing) {
  const auto begin = std::chrono::steady_clock::now();
  const auto texts = texts_of({url(0, 4), url(1, 3)}, patient);
  EXPECT_THAT(texts, Each(HasSubstr("differ in 'world size': '4' in process 0")));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 15s);
}

TEST_P(WorldTest, ValuesOfAContractMayHaveLines) {
  const auto texts = texts_of({url(0, 2), url(1, 2)}, [](std::size_t i) {
    return WorldOptions{.timeout = 20s, .contract = {{"text", i == 0 ? "a\nb" : "a\nc"}}};
  });
  EXPECT_THAT(texts, Each(HasSubstr("differ in 'text'")));
}

TEST(WorldFileTest, OneOfAnEarlierRunIsRefused) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("tandem-stale-" + std::to_string(::getpid())))
          .string();
  { FileStore(path).set("tandem//0/process/0", "host=old\npid=7\n"); }
  EXPECT_THAT(thrown_text<Desync>([&] {
                World world("file://" + path + "?rank=0&world_size=1", {.timeout = 20s});
              }),
              AllOf(HasSubstr("pid 7 on old"), HasSubstr("remove " + path)));
  std::filesystem::remove(path);
}

TEST(WorldAloneTest, AProcessThatNobodyLaunchedIsAWorld) {
  World world("env://", {.timeout = 20s});
  EXPECT_EQ(world.size(), 1);
  EXPECT_EQ(world.describe(), "rank 0 of 1, started by nobody");
  world.barrier();
}

TEST(ReadUrlTest, SaysWhatIsWrong) {
  for (const auto& [url, text] : std::vector<std::pair<std::string, std::string>>{
           {"node1:29500", "is no place to meet at; give env://"},
           {"udp://node1:1", "is no place to meet at"},
           {"tcp://node1:1", "says not which process this is"},
           {"tcp://node1?rank=0&world_size=1", "expected HOST:PORT"},
           {"tcp://node1:1?rank=0", "rank without world_size"},
           {"tcp://node1:1?rank=2&world_size=2", "rank 2 of 2"},
           {"tcp://node1:1?rank=x&world_size=2", "rank='x'"},
           {"tcp://node1:1?size=2", "there are rank and world_size"},
           {"file://store?rank=0&world_size=1", "with three strokes"}}) {
    SCOPED_TRACE(url);
    EXPECT_THAT(thrown_text([&] { read_url(url, std::nullopt); }), HasSubstr(text));
  }
}

TEST(ReadUrlTest, TakesFromTheLauncherWhatItDoesNotSay) {
  const Launch launch{.launcher = "mpirun", .rank = 1, .size = 2};
  const MeetingPlace place = read_url("tcp://node1:29500", launch);
  EXPECT_EQ(place.launch.describe(),
            "rank 1 of 2 (local 0 of 1, node 0 of 1), started by mpirun; store at node1:29500");
}

}  // namespace
}  // namespace tandem::world::test
