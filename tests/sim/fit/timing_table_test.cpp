// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/sim/timing_table.hpp"

#include <cstdio>
#include <fstream>
#include <string>

#include <gmock/gmock.h>

#include "tandem/core/error.hpp"

#include "thrown_text.hpp"

namespace tandem::sim {
namespace {

using ::testing::HasSubstr;
using testing::thrown_text;

const std::string kHead = "bytes,out_of_place_ns,in_place_ns\n";

TEST(TimingTableTest, ReadsRowsInNanoseconds) {
  const TimingTable t =
      parse_timing_table("a_n4.csv", kHead + "1024,2500,3000.5\r\n\n2048,4e3,1\n");
  EXPECT_EQ(t.gpus, 4);
  ASSERT_EQ(t.rows.size(), 2);
  EXPECT_EQ(t.rows[0].nbytes, 1024);
  EXPECT_DOUBLE_EQ(t.rows[0].seconds, 2.5e-6);
  EXPECT_DOUBLE_EQ(t.rows[0].in_place_seconds, 3.0005e-6);
  EXPECT_DOUBLE_EQ(t.rows[1].seconds, 4e-6);
}

TEST(TimingTableTest, ReadsWhatWindowsWrites) {
  const TimingTable t =
      parse_timing_table("a_n4.csv",
                         "\xEF\xBB\xBF"
                         "bytes,out_of_place_ns,in_place_ns\r\n1024,2500,3000\r\n");
  ASSERT_EQ(t.rows.size(), 1);
  EXPECT_DOUBLE_EQ(t.rows[0].in_place_seconds, 3e-6);
  EXPECT_EQ(thrown_text([] { parse_timing_table("a_n4.csv", "\xEF\xBB\xBF"); }),
            "a_n4.csv is empty; its first line must be \"bytes,out_of_place_ns,in_place_ns\"");
}

TEST(TimingTableTest, ShowsBytesThatAreNoText) {
  const auto text = [](const std::string& row) {
    return thrown_text([&] { parse_timing_table("x_n2.csv", kHead + "1,1,1\n" + row); });
  };
  EXPECT_EQ(text(std::string("1,\0,1\n", 6)),
            "x_n2.csv, line 3: there is a zero byte, which no text has; if it is UTF-16, save it "
            "as UTF-8");
  EXPECT_THAT(text("1,\x1b[31m,\x7f"), HasSubstr("line 3: \"1,\\x1b[31m,\\x7f\" is not three"));
}

TEST(TimingTableTest, TheNameOrTheCallerSaysTheNumberOfGpus) {
  EXPECT_EQ(parse_timing_table("x_n2_n16.csv", kHead + "1,1,1").gpus, 16);
  EXPECT_EQ(parse_timing_table("x_n2.csv", kHead + "1,1,1", 3).gpus, 3);
  EXPECT_EQ(parse_timing_table("times.csv", kHead + "1,1,1", 5).gpus, 5);
  for (const char* name : {"times.csv", "x_n.csv", "x_n2b.csv", "n8.csv"})
    EXPECT_THAT(thrown_text([&] { parse_timing_table(name, kHead + "1,1,1"); }),
                HasSubstr("does not say how many GPUs"))
        << name;
  EXPECT_THAT(thrown_text([] { parse_timing_table("x_n1.csv", kHead + "1,1,1"); }),
              HasSubstr("times of 1 GPUs; an all-reduce needs at least 2"));
}

TEST(TimingTableTest, RefusesWhatIsNotATable) {
  const auto text = [](const std::string& csv) {
    return thrown_text([&] { parse_timing_table("x_n2.csv", csv); });
  };
  EXPECT_EQ(text(""),
            "x_n2.csv is empty; its first line must be \"bytes,out_of_place_ns,in_place_ns\"");
  EXPECT_EQ(text(kHead), "x_n2.csv has columns, but no row");
  EXPECT_EQ(text("bytes,out_of_place_us,in_place_us\n1,1,1\n"),
            "x_n2.csv, line 1: the columns are \"bytes,out_of_place_us,in_place_us\"; they must be "
            "\"bytes,out_of_place_ns,in_place_ns\", bytes and nanoseconds");
  EXPECT_THAT(text("1,1,1\n"), HasSubstr("line 1: the columns are \"1,1,1\""));
  for (const char* row :
       {"1,2", "1,2,3,4", "x,2,3", "1,2 us,3", "1.5,2,3", "-1,2,3", ",,", "1, 2,3"})
    EXPECT_EQ(text(kHead + "1,1,1\n" + row),
              std::string("x_n2.csv, line 3: \"") + row +
                  "\" is not three numbers, of bytes,out_of_place_ns,in_place_ns");
  for (const char* row : {"0,2,3", "1,-2,3", "1,2,0", "1,inf,3", "1,nan,3"})
    EXPECT_EQ(text(kHead + row),
              std::string("x_n2.csv, line 2: \"") + row + "\"; all numbers must be positive");
}

TEST(TimingTableTest, AFilesErrorsNameTheFile) {
  EXPECT_THAT(thrown_text<FileError>([] { read_timing_table("no_n2.csv"); }),
              HasSubstr("no_n2.csv"));
  const std::string path = ::testing::TempDir() + "timing_n2.csv";
  std::ofstream(path) << "a,b\n";
  EXPECT_THAT(thrown_text<FileError>([&] { read_timing_table(path); }),
              ::testing::StartsWith(path + ": line 1: the columns are \"a,b\""));
  std::ofstream(path, std::ios::trunc);
  EXPECT_THAT(thrown_text<FileError>([&] { read_timing_table(path); }),
              ::testing::StartsWith(path + ": is empty; its first line"));
  std::ofstream(path) << kHead << "4096,10,20\n";
  EXPECT_EQ(read_timing_table(path).rows.at(0).nbytes, 4096);
  EXPECT_EQ(read_timing_table(path).name, path);
  std::remove(path.c_str());
}

}  // namespace
}  // namespace tandem::sim
