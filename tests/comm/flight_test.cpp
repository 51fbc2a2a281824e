// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// What is read from flight records that are written by hand.

#include "tandem/comm/flight.hpp"

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "tandem/core/error.hpp"

#include "thrown_text.hpp"

namespace tandem::comm {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Json = nlohmann::json;
using testing::thrown_text;

Json operation(int number, int start_us, const char* state = "completed") {
  const bool is_complete = std::string(state) == "completed";
  return {{"number", number},
          {"generation", 0},
          {"kind", "all_reduce"},
          {"dtype", "f32"},
          {"count", 12},
          {"common_count", 12},
          {"op", "sum"},
          {"root", -1},
          {"algorithm", "direct"},
          {"tag", 0},
          {"collectives", 1},
          {"state", state},
          {"start_us", start_us},
          {"met_us", is_complete ? Json(start_us + 5) : Json()},
          {"end_us", is_complete ? Json(start_us + 9) : Json()}};
}

/// The record of a process of two that have a rank each.
Json record(int process, Json operations, Json failure = "it failed") {
  return {
      {"format", "tandem flight record"},
      {"version", 1},
      {"run", "node1-11-99"},
      {"process", process},
      {"processes", {{{"host", "node1"}, {"pid", 11}}, {{"host", "node2"}, {"pid", 11}}}},
      {"clock",
       {{"origin_us", 1000},
        {"steady_us", 9000},
        {"wall_us", 1'700'000'000'000'000},
        {"offset_us", 0},
        {"error_us", 20}}},
      {"group", "gloo-1"},
      {"members", {{{"device", "cpu:0"}, {"process", 0}}, {{"device", "cpu:0"}, {"process", 1}}}},
      {"failure", std::move(failure)},
      {"ranks", {{{"rank", process}, {"device", "cpu:0"}, {"operations", std::move(operations)}}}}};
}

class FlightTest : public ::testing::Test {
 protected:
  FlightTest() { std::filesystem::create_directories(folder); }
  ~FlightTest() override { std::filesystem::remove_all(folder); }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder / name) << text;
  }
  void write(const Json& record) { write(std::to_string(files++) + ".json", record.dump()); }
  Flight read() const { return read_flight(folder.string()); }
  FlightGroup group() const {
    const Flight flight = read();
    EXPECT_THAT(flight.warnings, IsEmpty());
    EXPECT_EQ(flight.runs.size(), 1u);
    EXPECT_EQ(flight.runs.front().groups.size(), 1u);
    return flight.runs.front().groups.front();
  }

  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("tandem-flight-" + std::to_string(::getpid()));
  int files = 0;
};

TEST_F(FlightTest, SaysWhoCameWhenOnOneClock) {
  Json other = record(1, {operation(1, 300), operation(2, 400)});
  // Its clock shows five seconds more than process 0's, and it made its group 100 us later.
  other["clock"]["offset_us"] = -5'000'000;
  other["clock"]["origin_us"] = 5'001'100;
  other["clock"]["steady_us"] = 5'009'000;
  other["clock"]["error_us"] = 70;
  write(record(0, {operation(1, 500), operation(2, 450)}));
  write(other);
  const FlightGroup g = group();
  ASSERT_EQ(g.collectives.size(), 2u);
  const FlightCollective& one = g.collectives[0];
  EXPECT_EQ(one.number, 1);
  EXPECT_TRUE(one.is_complete);
  ASSERT_EQ(one.arrivals.size(), 2u);
  // 1000 + 500 and 1100 + 300; the first of all moments is process 1's 1400.
  EXPECT_EQ(one.arrivals[0].rank, 1);
  EXPECT_EQ(one.arrivals[0].came, 0us);
  EXPECT_EQ(one.arrivals[1].rank, 0);
  EXPECT_EQ(one.arrivals[1].came, 100us);
  EXPECT_EQ(one.arrivals[1].met, 105us);
  EXPECT_EQ(one.arrivals[1].ended, 109us);
  EXPECT_EQ(g.collectives[1].arrivals[0].rank, 0);
  EXPECT_EQ(g.collectives[1].arrivals[1].came - g.collectives[1].arrivals[0].came, 50us);
  EXPECT_FALSE(g.first_difference || g.first_missing);
  const FlightRun run = read().runs[0];
  EXPECT_EQ(run.name, "node1-11-99");
  EXPECT_EQ(run.processes[1].host, "node2");
  EXPECT_EQ(run.processes[1].clock_error, 70us);
}

TEST_F(FlightTest, AClockThatIsNotKnownIsPlacedByTheWallClock) {
  Json other = record(1, {operation(1, 100)});
  other["clock"]["offset_us"] = nullptr;
  other["clock"]["error_us"] = nullptr;
  other["clock"]["origin_us"] = 70'001'000;
  other["clock"]["steady_us"] = 70'009'000;  // when process 0's says 9000 + 250
  other["clock"]["wall_us"] = 1'700'000'000'000'250;
  write(other);
  write(record(0, {operation(1, 100)}));
  const FlightGroup g = group();
  EXPECT_EQ(g.collectives[0].arrivals[0].rank, 0);
  EXPECT_EQ(g.collectives[0].arrivals[1].came, 250us);
  EXPECT_FALSE(read().runs[0].processes[1].clock_error);
}

TEST_F(FlightTest, NamesTheFirstThatDiffersWithBothValues) {
  Json other = operation(2, 30, "failed");
  other["common_count"] = 13;
  other["count"] = 13;
  write(record(0, {operation(1, 10), operation(2, 20, "failed")}));
  write(record(1, {operation(1, 20), other}));
  const FlightGroup g = group();
  ASSERT_EQ(g.first_difference, 1u);
  const FlightDifference& d = *g.collectives[1].difference;
  EXPECT_EQ(d.field, "count");
  EXPECT_EQ(d.rank, 0);
  EXPECT_EQ(d.value, "12");
  EXPECT_EQ(d.other, 1);
  EXPECT_EQ(d.other_value, "13");
  EXPECT_FALSE(g.first_missing);
}

TEST_F(FlightTest, NamesEachFieldThatMayDiffer) {
  const std::vector<std::pair<Json, std::string>> changes{
      {{{"kind", "broadcast"}}, "operation"},
      {{{"dtype", "f64"}}, "dtype"},
      {{{"op", "max"}}, "reduction"},
      {{{"root", 1}}, "root"},
      {{{"algorithm", "ring"}}, "algorithm"},
      {{{"collectives", 3}}, "number of coalesced collectives"},
      {{{"count", 7}}, ""}};  // a rank's own count may differ
  for (const auto& [change, field] : changes) {
    SCOPED_TRACE(field);
    Json other = operation(1, 10, "failed");
    other.update(change);
    write("a.json", record(0, {operation(1, 10, "failed")}).dump());
    write("b.json", record(1, {other}).dump());
    const FlightGroup g = group();
    const auto& difference = g.collectives[0].difference;
    EXPECT_EQ(g.first_difference.has_value(), !field.empty());
    EXPECT_EQ(difference ? difference->field : "", field);
  }
}

TEST_F(FlightTest, NamesWhoHasNotCome) {
  write(record(0, {operation(1, 10), operation(2, 20, "started")}, "rank 1 did not arrive"));
  write(record(1, {operation(1, 20)}, nullptr));
  const FlightGroup g = group();
  ASSERT_EQ(g.first_missing, 1u);
  EXPECT_THAT(g.collectives[1].missing, ElementsAre(1));
  EXPECT_THAT(g.collectives[1].unknown, IsEmpty());
  EXPECT_FALSE(g.collectives[1].is_complete);
  EXPECT_THAT(g.silent, IsEmpty());
  ASSERT_EQ(g.failures.size(), 1u);
  EXPECT_EQ(g.failures[0].process, 0);
  EXPECT_EQ(g.failures[0].text, "rank 1 did not arrive");
}

TEST_F(FlightTest, NamesAProcessThatWroteNoRecord) {
  write(record(0, {operation(1, 10), operation(2, 20, "failed")}));
  const FlightGroup g = group();
  EXPECT_THAT(g.silent, ElementsAre(1));
  EXPECT_EQ(g.first_missing, 1u) << "that the first is complete shows that rank 1 had come";
  EXPECT_THAT(g.collectives[1].missing, IsEmpty());
  EXPECT_THAT(g.collectives[1].unknown, ElementsAre(1));
  EXPECT_TRUE(read().runs[0].processes[1].files.empty());
}

TEST_F(FlightTest, WhatARankNoLongerKeepsIsNotMissing) {
  write(record(0, {operation(1, 10), operation(2, 20, "started")}));
  write(record(1, {operation(2, 30, "started"), operation(3, 40, "started")}));
  const FlightGroup g = group();
  EXPECT_THAT(g.collectives[0].unknown, ElementsAre(1));
  EXPECT_EQ(g.first_missing, 2u);
  EXPECT_THAT(g.collectives[2].missing, ElementsAre(0));
}

TEST_F(FlightTest, NumbersBeginAgainAfterAReset) {
  Json again = operation(1, 50, "started");
  again["generation"] = 1;
  write(record(0, {operation(1, 10), again}));
  write(record(1, {operation(1, 20)}));
  const FlightGroup g = group();
  ASSERT_EQ(g.collectives.size(), 2u);
  EXPECT_TRUE(g.collectives[0].is_complete);
  EXPECT_EQ(g.collectives[1].generation, 1);
  EXPECT_THAT(g.collectives[1].missing, ElementsAre(1));
}

TEST_F(FlightTest, TheLatestRecordOfAProcessIsTakenAndAllItsFailures) {
  Json late = record(0, {operation(1, 10), operation(2, 20)}, "the second");
  late["clock"]["steady_us"] = 9500;
  write(late);
  write(record(0, {operation(1, 10, "failed")}, "the first"));
  const FlightGroup g = group();
  EXPECT_EQ(g.collectives.size(), 2u);
  EXPECT_TRUE(g.collectives[0].is_complete);
  ASSERT_EQ(g.failures.size(), 2u);
  EXPECT_EQ(g.failures[0].text, "the first");
  EXPECT_EQ(g.failures[1].at - g.failures[0].at, 500us);
}

TEST_F(FlightTest, MessagesThatHaveNotArrivedAreListed) {
  Json sent = operation(0, 40, "started"), arrived = operation(0, 30);
  sent.update({{"kind", "send"}, {"root", 1}, {"tag", 7}});
  write(record(0, {arrived, sent}));
  const FlightGroup g = group();
  ASSERT_EQ(g.messages.size(), 1u);
  EXPECT_EQ(g.messages[0].tag, 7);
  EXPECT_EQ(g.messages[0].arrival.rank, 0);
  EXPECT_EQ(g.messages[0].arrival.call.root, 1);
  EXPECT_THAT(g.collectives, IsEmpty());
}

TEST_F(FlightTest, GroupsStandInTheOrderOfTheirTrouble) {
  Json late = record(0, {operation(1, 700, "started")}), early = late;
  early["group"] = "gloo-2";
  early["ranks"][0]["operations"][0]["start_us"] = 600;
  Json good = record(0, {operation(1, 10)}, nullptr);
  good["group"] = "gloo-3";
  for (const Json& r : {good, late, early})
    write(r);
  std::vector<std::string> names;
  const Flight flight = read();
  for (const FlightGroup& g : flight.runs[0].groups)
    names.push_back(g.name);
  EXPECT_THAT(names, ElementsAre("gloo-2", "gloo-1", "gloo-3"));
}

TEST_F(FlightTest, RunsAreKeptApartTheLatestFirst) {
  Json later = record(0, {operation(1, 10)});
  later["run"] = "node1-12-98";
  later["clock"]["wall_us"] = 1'700'000'001'000'000;
  write(record(0, {operation(1, 10)}));
  write(later);
  const Flight flight = read();
  ASSERT_EQ(flight.runs.size(), 2u);
  EXPECT_EQ(flight.runs[0].name, "node1-12-98");
  EXPECT_EQ(flight.runs[1].name, "node1-11-99");
}

// Process 1 made a group of its own, without the world.
TEST_F(FlightTest, AGroupWithoutAWorldIsOfTheRunOfItsProcess) {
  Json own = record(0, {operation(1, 10, "started")});
  own["run"] = nullptr;
  own["group"] = "local-0";
  own["processes"] = {{{"host", "node2"}, {"pid", 11}}};
  own["members"] = {{{"device", "cpu:3"}, {"process", 0}}};
  Json other = record(1, {operation(1, 10)});
  other["clock"]["offset_us"] = 400;
  write(own);
  write(record(0, {operation(1, 10)}));
  write(other);
  const Flight flight = read();
  ASSERT_EQ(flight.runs.size(), 1u);
  ASSERT_EQ(flight.runs[0].groups.size(), 2u);
  const FlightGroup& local = flight.runs[0].groups[1];
  EXPECT_EQ(local.name, "local-0");
  EXPECT_EQ(local.ranks[0].process, 1);
  EXPECT_EQ(local.collectives[0].arrivals[0].came, 400us) << "by the clock of process 1";
  EXPECT_EQ(flight.runs[0].processes[1].files.size(), 2u);
}

TEST_F(FlightTest, AFolderThatIsNotThereOrHasNoRecordSaysWhatToGive) {
  EXPECT_THAT(thrown_text<FileError>([&] { read_flight((folder / "none").string()); }),
              AllOf(HasSubstr((folder / "none").string()), HasSubstr("TANDEM_COMM_DUMP")));
  write("notes.txt", "not a record");
  EXPECT_THAT(thrown_text<FileError>([&] { read(); }),
              AllOf(HasSubstr("there is no flight record"), HasSubstr("TANDEM_COMM_DUMP")));
  write("a.json", "");
  EXPECT_THAT(thrown_text<FileError>([&] { read(); }),
              AllOf(HasSubstr("none of its 1 files can be used"), HasSubstr("a.json")));
}

/// The good record with a change that makes no sense, and what is said of it.
struct Damage {
  const char* where;
  Json value;
  const char* text;
};

TEST_F(FlightTest, ADamagedRecordIsPassedOverWithItsReason) {
  const std::vector<Damage> damages{
      {"/format", "something else", "'something else'"},
      {"/version", 2, "is of version 2"},
      {"/version", -1, "version is -1"},
      {"/run", 3, "run is 3; expected a text"},
      {"/process", 2, "process is 2; expected a whole number from 0 to 1"},
      {"/process", -1, "process is -1"},
      {"/processes", Json::array(), "processes is empty"},
      {"/members", Json::array(), "members is empty"},
      {"/processes/0/pid", "11", "processes[0].pid is \"11\""},
      {"/processes/0", Json::object(), "processes[0].host is missing"},
      {"/members", 1, "members is 1; expected an array"},
      {"/members/1/process", 0, "rank 1 is of process 0, not of 1"},
      {"/members/0/process", 18446744073709551615u, "members[0].process is 18446744073709551615"},
      {"/clock", nullptr, "clock.steady_us is missing"},
      {"/clock/offset_us", 9223372036854775807, "clock.offset_us is 9223372036854775807"},
      {"/clock/error_us", -3, "clock.error_us is -3"},
      {"/failure", 1, "failure is 1"},
      {"/ranks/0/rank", 7, "ranks[0].rank is 7"},
      {"/ranks/0/operations", "x", "ranks[0].operations is \"x\""},
      {"/ranks/0/operations/0/number", -1, "operations[0].number is -1"},
      {"/ranks/0/operations/0/number", 1.5, "operations[0].number is 1.5"},
      {"/ranks/0/operations/0/start_us", 1e300, "start_us is 1e+300"},
      {"/ranks/0/operations/0/start_us", -5, "start_us is -5"},
      {"/ranks/0/operations/0/root", 2, "root is 2"},
      {"/ranks/0/operations/0/state", "lost", "'lost'"},
      {"/ranks/0/operations/0/kind", std::string(1000, 'x'), "kind is"},
      {"/ranks/0/operations/0/collectives", 0, "collectives is 0"}};
  write("good.json", record(0, {operation(1, 10)}).dump());
  for (const Damage& damage : damages) {
    SCOPED_TRACE(damage.where);
    Json bad = record(1, {operation(1, 10)});
    bad[Json::json_pointer(damage.where)] = damage.value;
    write("bad.json", bad.dump());
    const Flight flight = read();
    ASSERT_EQ(flight.warnings.size(), 1u);
    EXPECT_THAT(flight.warnings[0], AllOf(HasSubstr("bad.json"), HasSubstr(damage.text)));
    EXPECT_EQ(flight.runs[0].groups[0].collectives.size(), 1u);
    EXPECT_THAT(flight.runs[0].groups[0].silent, ElementsAre(1));
  }
}

TEST_F(FlightTest, AFileThatIsNoJsonOrCutOffIsPassedOver) {
  const std::string whole = record(1, {operation(1, 10)}).dump();
  write("good.json", record(0, {operation(1, 10)}).dump());
  std::string twice = record(1, {operation(1, 10)}).dump();
  for (std::size_t n = 0; n < whole.size(); n += 7) {
    write("bad.json", whole.substr(0, n));
    ASSERT_THAT(read().warnings, ElementsAre(AllOf(HasSubstr("bad.json"), HasSubstr("cut off"))));
  }
  for (const std::string& text : {std::string("hello"),
                                  std::string("{\"version\": 1e999}"),
                                  std::string("\xff\xfe{}"),
                                  std::string(100'000, '[')}) {
    write("bad.json", text);
    EXPECT_THAT(read().warnings, ElementsAre(HasSubstr("bad.json")));
  }
  std::filesystem::remove(folder / "bad.json");
  std::filesystem::create_directory(folder / "bad.json");
  EXPECT_THAT(read().warnings, ElementsAre(HasSubstr("bad.json")));
}

TEST_F(FlightTest, ARecordThatContradictsTheOthersIsPassedOver) {
  Json lonely = record(1, {operation(1, 10)}), foreign = lonely,
       good = record(0, {operation(1, 1)});
  lonely["processes"][0]["pid"] = 12;
  foreign["members"][0]["device"] = "cpu:5";
  write("0.json", lonely.dump());
  write("1.json", foreign.dump());
  write("2.json", good.dump());
  write("3.json", good.dump());
  const Flight flight = read();
  EXPECT_THAT(flight.warnings,
              ElementsAre(AllOf(HasSubstr("0.json"), HasSubstr("other processes")),
                          AllOf(HasSubstr("1.json"), HasSubstr("other processes or ranks"))));
  EXPECT_THAT(flight.runs[0].groups[0].silent, ElementsAre(1));
}

}  // namespace
}  // namespace tandem::comm
