// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// What a group records of its operations, and when it writes it.

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "tandem/comm/algorithms.hpp"
#include "tandem/comm/communicator.hpp"
#include "tandem/world/world.hpp"

#include "comm/rank_values.hpp"
#include "comm/run_ranks.hpp"
#include "devices.hpp"

namespace tandem {
namespace {

using namespace std::chrono_literals;
using comm::Communicator;
using comm::ReduceOp;
using testing::Group;
using ::testing::HasSubstr;
using testing::make_group;
using testing::make_tensor;
using testing::outcomes;
using testing::run_ranks;
using Json = nlohmann::json;
namespace fs = std::filesystem;

Tensor numbers(const Communicator& comm, std::int64_t n, DType dtype = DType::f32) {
  return make_tensor(testing::rank_values(comm.rank(), n, dtype), dtype, comm.device());
}

/// A folder that is not there yet; gone with the object.
class Folder {
 public:
  Folder()
      : path_(fs::temp_directory_path() /
              ("tandem_flight_" + std::to_string(::getpid()) + "_" + std::to_string(next()++))) {}
  ~Folder() { fs::remove_all(path_); }
  std::string name() const { return path_.string(); }
  std::vector<Json> records() const {
    std::vector<Json> list;
    if (!fs::exists(path_)) return list;
    for (const auto& file : fs::directory_iterator(path_))
      list.push_back(Json::parse(std::ifstream(file.path())));
    return list;
  }

 private:
  static int& next() {
    static int number = 0;
    return number;
  }
  fs::path path_;
};

TEST(FlightRecord, HasWhatEachRankDid) {
  if (testing::test_world() != nullptr) GTEST_SKIP() << testing::kOneProcess;
  Group group = make_group(2);
  run_ranks(group, [](Communicator& comm) {
    comm.all_reduce(numbers(comm, 13, DType::f64), ReduceOp::max);
    comm.broadcast(numbers(comm, 5), 1);
    if (comm.rank() == 0)
      comm.send(numbers(comm, 4), 1, 9);
    else
      comm.recv(numbers(comm, 4), 0, 9);
    comm.coalesced({comm::Collective::all_reduce(numbers(comm, 2, DType::i64)),
                    comm::Collective::broadcast(numbers(comm, 3), 0)});
  });
  const Json record = Json::parse(group[1]->flight_record());
  EXPECT_TRUE(record["failure"].is_null());
  ASSERT_EQ(record["ranks"].size(), 2u);
  for (const int r : {0, 1}) {
    const Json& rank = record["ranks"][r];
    EXPECT_EQ(rank["rank"], r);
    EXPECT_EQ(rank["device"], testing::device_name(r));
    const Json& operations = rank["operations"];
    ASSERT_EQ(operations.size(), 4u);
    for (const Json& operation : operations) {
      EXPECT_EQ(operation["state"], "completed");
      EXPECT_LE(operation["start_us"], operation["met_us"]);
      EXPECT_LE(operation["met_us"], operation["end_us"]);
    }
    EXPECT_EQ(operations[0]["number"], 1);
    EXPECT_EQ(operations[0]["kind"], "all_reduce");
    EXPECT_EQ(operations[0]["dtype"], "f64");
    EXPECT_EQ(operations[0]["count"], 13);
    EXPECT_EQ(operations[0]["op"], "max");
    EXPECT_EQ(operations[1]["root"], 1);
    EXPECT_EQ(operations[2]["number"], 0);
    EXPECT_EQ(operations[2]["kind"], r == 0 ? "send" : "recv");
    EXPECT_EQ(operations[2]["root"], 1 - r);
    EXPECT_EQ(operations[2]["tag"], 9);
    EXPECT_EQ(operations[3]["number"], 3);
    EXPECT_EQ(operations[3]["collectives"], 2);
  }
}

TEST(FlightRecord, SaysWhoseItIs) {
  if (testing::test_world() != nullptr) GTEST_SKIP() << testing::kOneProcess;
  Group group = make_group(2), other = make_group(2);
  run_ranks(group, [](Communicator& comm) { comm.all_reduce(numbers(comm, 13)); });
  group[0]->reset();
  run_ranks(group, [](Communicator& comm) {
    auto collective = comm::Collective::all_reduce(numbers(comm, 4));
    collective.algorithm = &comm::algorithm("ring");
    comm.start(std::move(collective)).wait();
  });
  const Json record = Json::parse(group[0]->flight_record());
  EXPECT_EQ(record["version"], 1);
  EXPECT_TRUE(record["run"].is_null());
  EXPECT_EQ(record["process"], 0);
  ASSERT_EQ(record["processes"].size(), 1u);
  EXPECT_EQ(record["processes"][0]["pid"], ::getpid());
  ASSERT_EQ(record["members"].size(), 2u);
  EXPECT_EQ(record["members"][1]["device"], testing::device_name(1));
  EXPECT_EQ(record["members"][1]["process"], 0);
  EXPECT_NE(record["group"], Json::parse(other[0]->flight_record())["group"]);
  const Json& clock = record["clock"];
  EXPECT_EQ(clock["offset_us"], 0);
  EXPECT_LE(clock["origin_us"], clock["steady_us"]);
  const Json& operations = record["ranks"][1]["operations"];
  ASSERT_EQ(operations.size(), 2u);
  EXPECT_EQ(operations[0]["generation"], 0);
  EXPECT_EQ(operations[0]["algorithm"], "direct");
  EXPECT_EQ(operations[0]["common_count"], 13);
  EXPECT_EQ(operations[1]["number"], 1);
  EXPECT_EQ(operations[1]["generation"], 1);
  EXPECT_EQ(operations[1]["algorithm"], "ring");
}

TEST(FlightRecord, HasNamesThatAreTheSameInAllProcesses) {
  world::World* const world = testing::test_world();
  if (world == nullptr) GTEST_SKIP() << "needs several processes";
  static int times = 0;
  const std::string place = "flight/" + std::to_string(++times) + '/';
  Group group = make_group(2 * world->size());
  std::mutex mutex;
  std::set<std::string> names;
  run_ranks(group, [&](Communicator& comm) {
    const std::string color = std::to_string(comm.rank() % 2);
    const auto half = comm.split(comm.rank() % 2);
    for (const auto& [key, of] :
         {std::pair<std::string, Communicator*>("whole", &comm), {"half" + color, half.get()}}) {
      const Json record = Json::parse(of->flight_record());
      const std::string name = record["group"];
      EXPECT_EQ(world->store().compare_set(place + key, "", name), name);
      EXPECT_EQ(record["run"], world->run());
      EXPECT_EQ(record["process"], world->rank());
      EXPECT_EQ(record["processes"].size(), world->peers().size());
      EXPECT_EQ(record["members"][of->rank()]["process"], world->rank());
      const std::scoped_lock lock(mutex);
      names.insert(name);
    }
    comm.barrier();
  });
  EXPECT_EQ(names.size(), 3u);
}

TEST(FlightRecord, KeepsTheLast1024) {
  Group group = make_group(1);
  for (int i = 0; i < 1500; ++i)
    group[0]->barrier();
  const Json record = Json::parse(group[0]->flight_record());
  const Json& operations = record["ranks"][0]["operations"];
  ASSERT_EQ(operations.size(), 1024u);
  EXPECT_EQ(operations.front()["number"], 477);
  EXPECT_EQ(operations.back()["number"], 1500);
}

TEST(FlightRecord, IsWrittenOnceWhenTheGroupFirstFails) {
  if (testing::test_world() != nullptr) GTEST_SKIP() << testing::kOneProcess;
  const Folder folder;
  Group group = make_group(3, {.timeout = 100ms, .dump_folder = folder.name()});
  outcomes(group, [](Communicator& comm) {
    comm.barrier();
    if (comm.rank() != 1) comm.all_reduce(numbers(comm, 6));
    comm.barrier();
  });
  const std::vector<Json> records = folder.records();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_THAT(records[0]["failure"].get<std::string>(), HasSubstr("collective number 2"));
  const auto last = [&](int rank) { return records[0]["ranks"][rank]["operations"].back(); };
  EXPECT_EQ(last(1)["number"], 2);
  EXPECT_EQ(last(1)["kind"], "barrier");
  int others = 0;  // one of them meets rank 1; the third may come when the group has failed
  for (const int r : {0, 2}) {
    if (last(r)["number"] != 2) continue;
    ++others;
    EXPECT_EQ(last(r)["kind"], "all_reduce");
    EXPECT_NE(last(r)["state"], "completed");
    EXPECT_TRUE(last(r)["met_us"].is_null());
  }
  EXPECT_GE(others, 1);
  const Json after = Json::parse(group[0]->flight_record());
  EXPECT_EQ(after["failure"], records[0]["failure"]);
  EXPECT_EQ(after["ranks"][1]["operations"].back()["state"], "failed");
}

TEST(FlightRecord, OfARankThatStaysAwayShowsWhoWaited) {
  if (testing::test_world() != nullptr) GTEST_SKIP() << testing::kOneProcess;
  const Folder folder;
  Group group = make_group(2, {.timeout = 100ms, .dump_folder = folder.name()});
  outcomes(group, [](Communicator& comm) {
    if (comm.rank() == 0) comm.all_reduce(numbers(comm, 6));
  });
  const std::vector<Json> records = folder.records();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0]["ranks"][0]["operations"].back()["state"], "started");
  EXPECT_TRUE(records[0]["ranks"][1]["operations"].empty());
}

TEST(FlightRecord, IsWrittenAtAGoodEndIfThatIsAskedFor) {
  if (testing::test_world() != nullptr) GTEST_SKIP() << testing::kOneProcess;
  const Folder folder;
  Group group = make_group(2, {.dump_folder = folder.name(), .dump_at_end = true});
  run_ranks(group, [](Communicator& comm) { comm.barrier(); });
  EXPECT_TRUE(folder.records().empty());
  group.clear();
  const std::vector<Json> records = folder.records();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_TRUE(records[0]["failure"].is_null());
  EXPECT_EQ(records[0]["ranks"][1]["operations"].size(), 1u);
}

TEST(FlightRecord, ReplacesNoFile) {
  if (testing::test_world() != nullptr) GTEST_SKIP() << testing::kOneProcess;
  const Folder folder;
  const auto fail = [&] { make_group(2, {.dump_folder = folder.name()})[0]->abort("on purpose"); };
  fail();
  // Files of other hosts have the names that come next.
  const std::string first = fs::directory_iterator(folder.name())->path().string();
  const std::size_t dash = first.rfind('_');
  const int number = std::stoi(first.substr(dash + 1));
  for (const int i : {1, 2})
    std::ofstream(first.substr(0, dash + 1) + std::to_string(number + i) + ".json") << "3";
  fail();
  const std::vector<Json> records = folder.records();
  EXPECT_EQ(records.size(), 4u);
  EXPECT_EQ(std::ranges::count(records, Json(3)), 2);
}

TEST(FlightRecord, GoesWhereTheEnvironmentSaysAndNotForAGoodEnd) {
  if (testing::test_world() != nullptr) GTEST_SKIP() << testing::kOneProcess;
  const Folder folder;
  ::setenv("TANDEM_COMM_DUMP", folder.name().c_str(), 1);
  Group good = make_group(2), bad = make_group(2);
  ::unsetenv("TANDEM_COMM_DUMP");
  run_ranks(good, [](Communicator& comm) { comm.barrier(); });
  good[0]->reset();
  good.clear();
  EXPECT_TRUE(folder.records().empty());
  bad[1]->abort("a \"reason\"\n");
  bad[0]->abort("a later one");
  ASSERT_EQ(folder.records().size(), 1u);
  EXPECT_EQ(folder.records()[0]["failure"], "a \"reason\"\n");
}

}  // namespace
}  // namespace tandem
