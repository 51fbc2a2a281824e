// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/runtime/device.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tandem/core/error.hpp"

#include "runtime/cpu.hpp"
#include "thrown_text.hpp"

namespace tandem {
namespace {

using ::testing::HasSubstr;
using testing::thrown_text;

TEST(ParseDevice, TakesTypeWithAndWithoutIndex) {
  EXPECT_EQ(parse_device("cpu"), testing::cpu(0));
  EXPECT_EQ(parse_device("cpu:0"), testing::cpu(0));
  EXPECT_EQ(parse_device("cpu:127"), testing::cpu(127));
  EXPECT_EQ(to_string(parse_device("cpu:7")), "cpu:7");
}

struct BadText {
  const char* text;
  const char* says;
};
void PrintTo(const BadText& bad, std::ostream* s) {
  *s << '\'' << bad.text << '\'';
}

class BadDevice : public ::testing::TestWithParam<BadText> {};

TEST_P(BadDevice, NamesTheTextAndTheFault) {
  const auto [text, says] = GetParam();
  const std::string message = thrown_text([text = text] { parse_device(text); });
  EXPECT_THAT(message, HasSubstr(std::string("'") + text + "'"));
  EXPECT_THAT(message, HasSubstr(says));
}

INSTANTIATE_TEST_SUITE_P(All,
                         BadDevice,
                         ::testing::Values(BadText{"", "neither cpu nor cuda"},
                                           BadText{"gpu", "neither cpu nor cuda"},
                                           BadText{"CPU:0", "neither cpu nor cuda"},
                                           BadText{" cpu", "neither cpu nor cuda"},
                                           BadText{"cpu:", "form like cpu:1"},
                                           BadText{"cpu:-1", "form like cpu:1"},
                                           BadText{"cpu:+1", "form like cpu:1"},
                                           BadText{"cpu:1 ", "form like cpu:1"},
                                           BadText{"cpu:1:2", "form like cpu:1"},
                                           BadText{"cpu:0x1", "form like cpu:1"},
                                           BadText{"cpu:128", "below 128"},
                                           BadText{"cpu:18446744073709551615", "below 128"},
                                           BadText{"cpu:99999999999999999999", "form like cpu:1"}));

TEST(ParseDevices, CountsNumbersAndLimits) {
  EXPECT_EQ(parse_devices("cpu"), (std::vector<DeviceSpec>{{testing::cpu(0), {}}}));
  EXPECT_EQ(parse_devices("cpu:2"),
            (std::vector<DeviceSpec>{{testing::cpu(0), {}}, {testing::cpu(1), {}}}));
  EXPECT_EQ(
      parse_devices("cpu:1@1GiB,cpu:2"),
      (std::vector<DeviceSpec>{
          {testing::cpu(0), std::size_t{1} << 30}, {testing::cpu(1), {}}, {testing::cpu(2), {}}}));
  EXPECT_EQ(parse_devices("cpu:4@512MiB").size(), 4u);
  EXPECT_EQ(parse_devices("cpu:4@512MiB")[3].limit, std::size_t{512} << 20);
  EXPECT_EQ(parse_devices("cpu:128").size(), 128u);
}

class BadDeviceList : public ::testing::TestWithParam<BadText> {};

TEST_P(BadDeviceList, SaysWhatWasExpected) {
  const auto [text, says] = GetParam();
  EXPECT_THAT(thrown_text([text = text] { parse_devices(text); }), HasSubstr(says));
}

INSTANTIATE_TEST_SUITE_P(All,
                         BadDeviceList,
                         ::testing::Values(BadText{"", "neither cpu nor cuda"},
                                           BadText{",", "ends with a comma"},
                                           BadText{"cpu:1,", "ends with a comma"},
                                           BadText{"cpu:1,,cpu:1", "neither cpu nor cuda"},
                                           BadText{"tpu:4", "neither cpu nor cuda"},
                                           BadText{"cpu:0", "count of at least 1"},
                                           BadText{"cpu:-3", "count of at least 1"},
                                           BadText{"cpu:", "count of at least 1"},
                                           BadText{"cpu:129", "at most 128"},
                                           BadText{"cpu:80,cpu:49", "at most 128"},
                                           // one more than this wraps a 64-bit sum to zero
                                           BadText{"cpu:1,cpu:18446744073709551615", "at most 128"},
                                           BadText{"cpu:2@", "size ''"},
                                           BadText{"cpu:2@1GB", "size '1GB'"},
                                           BadText{"cpu:2@1GiB@1GiB", "size '1GiB@1GiB'"}));

TEST(ParseNbytes, TakesPowersOf1024) {
  EXPECT_EQ(parse_nbytes("1"), 1u);
  EXPECT_EQ(parse_nbytes("4096"), 4096u);
  EXPECT_EQ(parse_nbytes("64KiB"), 65536u);
  EXPECT_EQ(parse_nbytes("3MiB"), 3u << 20);
  EXPECT_EQ(parse_nbytes("2TiB"), std::size_t{2} << 40);
  EXPECT_EQ(parse_nbytes("4194304TiB"), std::size_t{1} << 62);
}

TEST(ParseNbytes, RefusesTheRestByName) {
  for (const char* text :
       {"", "0", "0MiB", "-1", "1.5GiB", "1 MiB", "MiB", "1mib", "1MB", "1e3", "0x10", "nan"}) {
    EXPECT_THAT(thrown_text([text] { parse_nbytes(text); }),
                HasSubstr(std::string("size '") + text + "': expected a positive number"));
  }
  for (const char* text : {"4194305TiB", "4611686018427387905", "18446744073709551615KiB"}) {
    EXPECT_THAT(thrown_text([text] { parse_nbytes(text); }), HasSubstr("more than a machine"));
  }
}

TEST(FormatNbytes, ChoosesTheUnit) {
  EXPECT_EQ(format_nbytes(0), "0 B");
  EXPECT_EQ(format_nbytes(1023), "1023 B");
  EXPECT_EQ(format_nbytes(1536), "1.5 KiB");
  EXPECT_EQ(format_nbytes(std::size_t{40} << 20), "40.0 MiB");
}

}  // namespace
}  // namespace tandem
