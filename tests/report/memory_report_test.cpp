// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/report/memory_report.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace tandem::report::test {
namespace {

using profile::DeviceMemory;
using profile::Held;
using profile::MemoryProfile;
using testing::HasSubstr;

/// A device whose peak is what is held.
DeviceMemory device(int index, std::vector<Held> held) {
  DeviceMemory memory{.device = {DeviceType::cpu, index}};
  for (const Held& h : held)
    memory.peak += h.nbytes;
  memory.peak_phase = Phase::backward;
  memory.at_peak = std::move(held);
  return memory;
}

/// Two devices; the first has all of the optimizer's state.
MemoryProfile profile_of_two() {
  const Held parameter{Category::parameter, Phase::none, "head", 4 << 20};
  const Held state{Category::optimizer, Phase::update, "head", 8 << 20};
  return {.devices = {device(0, {state, parameter}), device(1, {parameter})}};
}

TEST(MemoryReportTest, TextHasEachDeviceByCauseAndWhatHelps) {
  const std::string says = MemoryReport(profile_of_two()).text();
  for (const char* part : {"cpu:0 ",
                           "12.0 MiB  reached in backward",
                           "optimizer of head in update 8.0 MiB",
                           "cpu:1 ",
                           "imbalance 3.00: the peak of cpu:0 over the mean peak of the others",
                           "Mode::sharded divides it"})
    EXPECT_THAT(says, HasSubstr(part));
}

TEST(MemoryReportTest, TextOfOneDeviceSaysNothingOfOthers) {
  MemoryProfile one = profile_of_two();
  one.devices.pop_back();
  EXPECT_THAT(MemoryReport(one).text(), testing::Not(HasSubstr("imbalance")));
  EXPECT_EQ(MemoryReport({}).text(), "");
}

TEST(MemoryReportTest, JsonHasTheSameBytes) {
  const auto report = nlohmann::json::parse(MemoryReport(profile_of_two()).json());
  EXPECT_EQ(report.at("schema_version"), 1);
  EXPECT_EQ(report.at("imbalance"), 3.0);
  EXPECT_EQ(report.at("devices").at(0).at("peak_bytes"), 12 << 20);
  EXPECT_EQ(report.at("devices").at(0).at("peak_by_category").at("optimizer"), 8 << 20);
  EXPECT_EQ(report.at("devices").at(1).at("peak_owners").at(0).at("module"), "head");
}

TEST(MemoryReportTest, HtmlIsAWholePageWithoutAnOutsideReference) {
  const std::string page = MemoryReport(profile_of_two()).html();
  EXPECT_TRUE(page.starts_with("<!DOCTYPE html>"));
  EXPECT_THAT(page, HasSubstr("cpu:1"));
  EXPECT_THAT(page, HasSubstr("optimizer"));
  for (const char* outside : {"src=\"", "href=\"http", "@import"})
    EXPECT_THAT(page, testing::Not(HasSubstr(outside)));
}

}  // namespace
}  // namespace tandem::report::test
