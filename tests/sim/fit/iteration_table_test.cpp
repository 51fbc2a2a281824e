// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/sim/iteration_table.hpp"

#include <cstdio>
#include <fstream>
#include <string>

#include <gmock/gmock.h>

#include "tandem/core/error.hpp"

#include "thrown_text.hpp"

namespace tandem::sim {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::thrown_text;
using ::testing::ThrowsMessage;

const std::string kColumnNames = "model,mode,gpus,batch,context,measured_ms\n";

TEST(IterationTableTest, ReadsColumnsInAnyOrder) {
  const IterationTable table = parse_iteration_table(
      "a.csv",
      "name,measured_ms,loss,gpus,bucket_mb,mode,batch,context,model,optimizer,dtype,bucket_"
      "copies\r\n"
      "DP of 2,553.25,replica_and_outputs,2,,dp-classic,8,1024,gpt2,,,yes\r\n\n"
      ",1e2,,1,0.5,single,4,0,resnet18,sgd,bf16,no");
  EXPECT_EQ(table.name, "a.csv");
  EXPECT_THAT(table.rows,
              ElementsAre(IterationRow{.line = 2,
                                       .model = "gpt2",
                                       .mode = "dp-classic",
                                       .gpus = 2,
                                       .batch = 8,
                                       .context = 1024,
                                       .seconds = 0.55325,
                                       .copies_buckets = true,
                                       .loss = "replica_and_outputs",
                                       .name = "DP of 2"},
                          IterationRow{.line = 4,
                                       .model = "resnet18",
                                       .mode = "single",
                                       .gpus = 1,
                                       .batch = 4,
                                       .context = 0,
                                       .seconds = 0.1,
                                       .dtype = "bf16",
                                       .bucket_nbytes = 524288,
                                       .optimizer = "sgd"}));
}

TEST(IterationTableTest, ReadsWhatWindowsWrites) {
  const IterationTable table = parse_iteration_table(
      "a.csv", "\xEF\xBB\xBFmodel,mode,gpus,batch,context,measured_ms\r\ngpt2,ddp,2,8,128,60\r\n");
  ASSERT_EQ(table.rows.size(), 1);
  EXPECT_EQ(table.rows[0].model, "gpt2");
  EXPECT_DOUBLE_EQ(table.rows[0].seconds, 0.06);
  EXPECT_THAT([] { parse_iteration_table("a.csv", kColumnNames + std::string("gp\0t2,ddp", 9)); },
              ThrowsMessage<InvalidArgument>(HasSubstr("a.csv, line 2: there is a zero byte")));
}

TEST(IterationTableTest, RefusesOtherColumns) {
  const auto text = [](const std::string& csv) {
    return thrown_text([&] { parse_iteration_table("x.csv", csv); });
  };
  EXPECT_THAT(text(""), HasSubstr("x.csv is empty; its first line must name the columns model, "));
  EXPECT_EQ(text(kColumnNames), "x.csv has columns, but no row");
  EXPECT_EQ(text("model,mode,gpus,batch,measured_ms\n"),
            "x.csv, line 1: column context is missing; a table needs model, mode, gpus, batch, "
            "context, measured_ms");
  EXPECT_THAT(text("model,mode,gpus,batch,context,measured_s\n"),
              AllOf(HasSubstr("line 1: there is no column \"measured_s\"; the columns are"),
                    HasSubstr("measured_ms"),
                    HasSubstr("bucket_mb, bucket_copies, loss")));
  EXPECT_THAT(text("model, mode,gpus,batch,context,measured_ms\n"),
              HasSubstr("there is no column \" mode\""));
  EXPECT_THAT(text("model,mode,gpus,batch,context,measured_ms,\n"),
              HasSubstr("there is no column \"\""));
  EXPECT_THAT(text("model,mode,gpus,batch,context,measured_ms,gpus\n"),
              HasSubstr("line 1: column gpus is there twice"));
}

TEST(IterationTableTest, RefusesCellsByLineAndColumn) {
  const auto text = [](const std::string& row) {
    return thrown_text(
        [&] { parse_iteration_table("x.csv", kColumnNames + "gpt2,ddp,2,8,128,1\n" + row); });
  };
  EXPECT_EQ(text("gpt2,ddp,2,8,128"),
            "x.csv, line 3: \"gpt2,ddp,2,8,128\" has 5 cells, and line 1 names 6 columns");
  EXPECT_THAT(text("gpt2,ddp,2,8,128,1,1"), HasSubstr("has 7 cells"));
  EXPECT_EQ(text("gpt2,ddp,2,8,128,67.7 ms"),
            "x.csv, line 3, column measured_ms: \"67.7 ms\" is not a number; leave out its unit");
  EXPECT_THAT(text("gpt2,ddp,2,8,128,-1"),
              HasSubstr("column measured_ms: -1; it must be positive"));
  EXPECT_THAT(text("gpt2,ddp,2,8,128,nan"), HasSubstr("column measured_ms: nan; it must be"));
  EXPECT_THAT(text("gpt2,ddp,2,8,128,inf"),
              HasSubstr("column measured_ms: inf; it must be at most"));
  EXPECT_THAT(text("gpt2,ddp,2,8,128,"), HasSubstr("column measured_ms: \"\" is not a number"));
  EXPECT_THAT(text("gpt2,ddp,two,8,128,1"),
              HasSubstr("column gpus: \"two\" is not a whole number"));
  EXPECT_THAT(text("gpt2,ddp,0,8,128,1"), HasSubstr("column gpus: 0; it must be at least 1"));
  EXPECT_THAT(text("gpt2,ddp,2,8.5,128,1"), HasSubstr("column batch: \"8.5\" is not a whole"));
  EXPECT_THAT(text("gpt2,ddp,2,8,-1,1"), HasSubstr("column context: -1; it must be at least 0"));
  EXPECT_THAT(text("gpt2,ddp,99999999999,8,1,1"), HasSubstr("column gpus: "));
  EXPECT_THAT(text(",ddp,2,8,128,1"), HasSubstr("column model: the cell is empty"));
  EXPECT_THAT(text("gpt2,,2,8,128,1"), HasSubstr("column mode: the cell is empty"));
  EXPECT_THAT(thrown_text([] {
                parse_iteration_table("x.csv",
                                      "bucket_mb," + kColumnNames + "25 MB,gpt2,ddp,2,8,128,1\n");
              }),
              HasSubstr("x.csv, line 2, column bucket_mb: \"25 MB\" is not a number"));
  EXPECT_THAT(thrown_text([] {
                parse_iteration_table("x.csv",
                                      "bucket_mb," + kColumnNames + "1e9,gpt2,ddp,2,8,128,1\n");
              }),
              HasSubstr("column bucket_mb: 1e+09; it must be at most"));
  EXPECT_THAT(thrown_text([] {
                parse_iteration_table("x.csv",
                                      "bucket_copies," + kColumnNames + "1,gpt2,ddp,2,8,128,1\n");
              }),
              HasSubstr("line 2, column bucket_copies: \"1\" is neither yes nor no"));
}

TEST(IterationTableTest, ReadsFiles) {
  const std::string path = ::testing::TempDir() + "iterations_of_test.csv";
  std::ofstream(path) << kColumnNames << "gpt2,ddp,2,8,128,67.7\n";
  EXPECT_EQ(read_iteration_table(path).name, path);
  EXPECT_EQ(read_iteration_table(path).rows.size(), 1);
  std::ofstream(path) << kColumnNames << "gpt2,ddp,2,8,128\n";
  EXPECT_THAT([&] { read_iteration_table(path); },
              ThrowsMessage<FileError>(::testing::StartsWith(path + ": line 2: \"gpt2")));
  std::remove(path.c_str());
  EXPECT_THAT([&] { read_iteration_table(path); }, ThrowsMessage<FileError>(HasSubstr(path)));
}

TEST(IterationTableTest, CheckedInTablesAreReadable) {
  for (const auto& [name, rows] : {std::pair{"titan_rtx", 2},
                                   {"titan_rtx_no_nvlink", 1},
                                   {"rtx3090", 18},
                                   {"rtx3090_no_bridge", 12}}) {
    const IterationTable table =
        read_iteration_table(std::string(TANDEM_SIM_MEASURED) + "/iterations_" + name + ".csv");
    EXPECT_EQ(table.rows.size(), rows) << name;
  }
}

}  // namespace
}  // namespace tandem::sim
