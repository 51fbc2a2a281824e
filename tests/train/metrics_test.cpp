// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/train/metrics.hpp"

#include <filesystem>

#include <gmock/gmock.h>

#include "io/temp_dir.hpp"

namespace tandem::training {
namespace {

using testing::file_error;
using testing::get;
using ::testing::HasSubstr;
using testing::put;
using testing::TempDir;

TEST(MetricsFileTest, DoesNotMakeTheFileOfADanglingLink) {
  const TempDir dir;
  std::filesystem::create_symlink("victim", dir.file("run.csv"));
  for (const auto append : {Append::no, Append::yes}) {
    EXPECT_THAT(file_error([&] { csv_metrics(dir.file("run.csv"), append); }).what(),
                HasSubstr("cannot be written"));
  }
  EXPECT_FALSE(std::filesystem::exists(dir.file("victim")));
  put(dir.file("victim"), "");
  csv_metrics(dir.file("run.csv"))->add_scalar("a", 1, 2);  // a link to a file is as good as it
  EXPECT_THAT(get(dir.file("victim")), HasSubstr(",a,1\n"));
}

TEST(MetricsFileTest, GoesOnAfterTheStepThatTheRunGoesOnFrom) {
  const TempDir dir;
  const std::string first = "step,seconds,tag,value\n1,5,a,1\n2,5,a,1\n2,5,b,1\n";
  put(dir.file("run.csv"), first + "3,5,a,1\n4,5,a,1\n5,5");
  csv_metrics(dir.file("run.csv"), Append::yes, 2);
  EXPECT_EQ(get(dir.file("run.csv")), first);
  csv_metrics(dir.file("run.csv"), Append::yes, 2);
  EXPECT_EQ(get(dir.file("run.csv")), first);
  csv_metrics(dir.file("run.csv"), Append::yes, 0);
  EXPECT_EQ(get(dir.file("run.csv")), "step,seconds,tag,value\n");
  csv_metrics(dir.file("new.csv"), Append::yes, 2);
  EXPECT_EQ(get(dir.file("new.csv")), "step,seconds,tag,value\n");

  const std::string line = R"({"seconds":5.0,"step":2,"tag":"\"step\":9","value":1.0})"
                           "\n";
  put(dir.file("run.jsonl"),
      line + R"({"seconds":5.0,"step":3,"tag":"a","value":1.0})"
             "\n{\"sec");
  jsonl_metrics(dir.file("run.jsonl"), Append::yes, 2);
  EXPECT_EQ(get(dir.file("run.jsonl")), line);
}

}  // namespace
}  // namespace tandem::training
