// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "stand_in/machine/failures.hpp"

#include <stdexcept>

#include <gtest/gtest.h>

#include "stand_in/machine/settings.hpp"

namespace tandem::stand_in {
namespace {

TEST(FailuresTest, FailACallByItsCount) {
  Failures f("cudaMalloc:2,cudaEventRecord:1=700,cudaHostAlloc:2+");
  EXPECT_EQ(f.count("cudaMalloc"), 0);
  EXPECT_EQ(f.count("cudaMalloc"), 2);
  EXPECT_EQ(f.count("cudaMalloc"), 0);
  EXPECT_EQ(f.count("cudaEventRecord"), 700);
  EXPECT_EQ(f.count("cudaHostAlloc"), 0);
  EXPECT_EQ(f.count("cudaHostAlloc"), 2);
  EXPECT_EQ(f.count("cudaHostAlloc"), 2);
  EXPECT_EQ(f.calls("cudaMalloc"), 3);
  EXPECT_EQ(f.calls("cudaFree"), 0);
}

TEST(FailuresTest, CountFromWhereTheyAreAdded) {
  Failures f("");
  f.count("cudaFree");
  f.add("cudaFree:1");
  EXPECT_EQ(f.count("cudaFree"), 999);
  f.forget();
  EXPECT_EQ(f.count("cudaFree"), 0);
}

TEST(FailuresTest, RefuseOtherTexts) {
  for (const char* text :
       {"cudaMalloc", ":1", "cudaMalloc:0", "cudaMalloc:x", "cudaMalloc:1=", "cudaMalloc:1-"})
    EXPECT_THROW(Failures{text}, std::invalid_argument) << text;
}

TEST(SettingsTest, ReadsSizes) {
  EXPECT_EQ(read_bytes("16GiB"), std::size_t{16} << 30);
  EXPECT_EQ(read_bytes("512MiB"), std::size_t{512} << 20);
  EXPECT_EQ(read_bytes("4096"), 4096);
  for (const char* text : {"", "0", "16 GiB", "16GB", "-1", "99999999GiB"})
    EXPECT_THROW(read_bytes(text), std::invalid_argument) << text;
}

TEST(SettingsTest, NamesTheVariableThatIsWrong) {
  setenv("TANDEM_STAND_IN_GPUS", "many", 1);
  try {
    read_settings();
    ADD_FAILURE() << "nothing is thrown";
  } catch (const std::invalid_argument& e) {
    EXPECT_STREQ(e.what(), "TANDEM_STAND_IN_GPUS is 'many'; set it to a number from 0 to 16");
  }
  unsetenv("TANDEM_STAND_IN_GPUS");
}

}  // namespace
}  // namespace tandem::stand_in
