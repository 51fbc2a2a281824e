// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Hostile and damaged safetensors files. What the reference reader (0.8.0) accepts and is refused
// here: duplicate keys, unknown fields, null metadata, a leading blank, a trailing newline, a bool
// other than 0 and 1, and shapes whose strides overflow. Among 20,000
// generated files nothing else differed.

#include <cstring>

#include <gmock/gmock.h>

#include "tandem/core/error.hpp"
#include "tandem/io/safetensors.hpp"

#include "io/allocation_watch.hpp"
#include "io/sample.hpp"
#include "io/temp_dir.hpp"

namespace tandem {
namespace {

using testing::file_error;
using testing::get;
using ::testing::HasSubstr;
using testing::kSample;
using testing::put;
using testing::TempDir;

std::string prefix(std::uint64_t n) {
  std::string out(8, '\0');
  std::memcpy(out.data(), &n, 8);
  return out;
}

/// A file of this header and `nbytes` of data.
std::string with_header(const std::string& header, std::size_t nbytes = 0) {
  return prefix(header.size()) + header + std::string(nbytes, '\1');
}

/// A file of one tensor called a, with these fields.
std::string with_tensor(const std::string& fields, std::size_t nbytes = 0) {
  return with_header(R"({"a":{)" + fields + "}}", nbytes);
}

struct Fault {
  const char* name;
  std::string content;
  const char* text;
};

class SafetensorsFaultTest : public ::testing::TestWithParam<Fault> {};

TEST_P(SafetensorsFaultTest, IsRefusedWithItsOffset) {
  const Fault& fault = GetParam();
  const TempDir dir;
  put(dir.file("x"), fault.content);
  testing::reset_largest_allocation();
  const FileError e = file_error([&] { SafetensorsFile{dir.file("x")}; });
  EXPECT_LT(testing::largest_allocation(), 300'000u);
  EXPECT_THAT(e.what(), HasSubstr(fault.text));
  EXPECT_EQ(e.path(), dir.file("x"));
  EXPECT_GE(e.offset(), 0);
  EXPECT_LE(e.offset(), static_cast<std::int64_t>(fault.content.size()));
}

constexpr auto kName = [](const auto& info) { return info.param.name; };
const std::string kGood = R"("dtype":"U8","shape":[2],"data_offsets":[0,2])";

INSTANTIATE_TEST_SUITE_P(
    Prefix,
    SafetensorsFaultTest,
    ::testing::Values(
        Fault{"empty", "", "at least 8 are needed"},
        Fault{"short_prefix", "1234567", "at least 8 are needed"},
        Fault{"header_beyond_file", prefix(100) + "{}", "does not fit into the file's 10 bytes"},
        Fault{"header_0", prefix(0), "a header of 0 bytes does not fit"},
        Fault{"header_above_cap", prefix(100'000'001) + "{}", "at most 100000000 are allowed"},
        Fault{"header_cap_beyond_file",
              prefix(100'000'000) + "{}",
              "does not fit into the file's 10 bytes"},
        Fault{"header_2_64", prefix(UINT64_MAX) + "{}", "at most 100000000 are allowed"}),
    kName);

INSTANTIATE_TEST_SUITE_P(
    Json,
    SafetensorsFaultTest,
    ::testing::Values(
        Fault{"leading_blank", with_header(" {}"), "must begin with '{'"},
        Fault{"array", with_header("[]"), "must begin with '{'"},
        Fault{"byte_order_mark", with_header("\xef\xbb\xbf{}"), "must begin with '{'"},
        Fault{"all_blank", with_header("        "), "must begin with '{'"},
        Fault{"trailing_newline", with_header("{}\n"), "must end with '}'"},
        Fault{"trailing_object", with_header("{}{}"), "not valid JSON"},
        Fault{"nul", with_header(std::string("{}\0}", 4)), "NUL byte"},
        Fault{"unclosed", with_header(R"({"a":{})"), "needs dtype, shape and data_offsets"},
        Fault{"comment", with_header("{/**/}"), "not valid JSON"},
        Fault{"not_utf8", with_header("{\"\xff\":{}}"), "not valid JSON"},
        Fault{"tensor_is_null", with_header(R"({"a":null})"), "tensor 'a': null is not allowed"},
        Fault{"tensor_is_array", with_header(R"({"a":[]})"), "an array is not allowed"},
        Fault{"depth_arrays",
              with_header(R"({"a":)" + std::string(90'000, '[') + "}"),
              "an array is not allowed"},
        Fault{
            "depth_objects", with_tensor(R"("shape":{"b":{"c":{}}})"), "an object is not allowed"},
        Fault{"duplicate_name",
              with_header("{\"a\":{" + kGood + "},\"a\":{" + kGood + "}}", 2),
              "'a' appears twice"},
        Fault{
            "duplicate_field", with_tensor(R"("dtype":"U8",)" + kGood, 2), "'dtype' appears twice"},
        Fault{"metadata_twice",
              with_header(R"({"__metadata__":{},"__metadata__":{}})"),
              "appears twice"},
        Fault{"metadata_key_twice",
              with_header(R"({"__metadata__":{"k":"","k":""}})"),
              "key 'k' appears twice"},
        Fault{"metadata_number",
              with_header(R"({"__metadata__":{"k":1}})"),
              "a number is not allowed"},
        Fault{"metadata_nested",
              with_header(R"({"__metadata__":{"k":{}}})"),
              "an object is not allowed"},
        Fault{"metadata_null", with_header(R"({"__metadata__":null})"), "null is not allowed"},
        Fault{"metadata_list", with_header(R"({"__metadata__":[]})"), "an array is not allowed"}),
    kName);

INSTANTIATE_TEST_SUITE_P(
    Tensor,
    SafetensorsFaultTest,
    ::testing::Values(
        Fault{"unknown_field", with_tensor(kGood + R"(,"x":1)", 2), "'x' is not one of"},
        Fault{"missing_field",
              with_tensor(R"("dtype":"U8","shape":[2])", 2),
              "needs dtype, shape and data_offsets"},
        Fault{"unknown_dtype",
              with_tensor(R"("dtype":"I17","shape":[1],"data_offsets":[0,2])", 2),
              "dtype 'I17' is not part of the format; tandem reads F32, F64, BF16, F16, I32"},
        Fault{"half_a_byte",
              with_tensor(R"("dtype":"F4","shape":[3],"data_offsets":[0,2])", 2),
              "is not a whole number of bytes"},
        Fault{"dtype_number",
              with_tensor(R"("dtype":1,"shape":[2],"data_offsets":[0,2])", 2),
              "a number is not allowed"},
        Fault{"negative_size",
              with_tensor(R"("dtype":"U8","shape":[-2],"data_offsets":[0,2])", 2),
              "negative"},
        Fault{"float_size",
              with_tensor(R"("dtype":"U8","shape":[2.0],"data_offsets":[0,2])", 2),
              "is not a 64-bit integer"},
        Fault{"nested_size",
              with_tensor(R"("dtype":"U8","shape":[[2]],"data_offsets":[0,2])", 2),
              "an array is not allowed"},
        Fault{"size_2_63",
              with_tensor(R"("dtype":"U8","shape":[9223372036854775808],"data_offsets":[0,2])", 2),
              "2^63 - 1"},
        Fault{"size_2_64",
              with_tensor(R"("dtype":"U8","shape":[18446744073709551616],"data_offsets":[0,2])", 2),
              "is not a 64-bit integer"},
        Fault{"product_overflow",
              with_tensor(R"("dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0])"),
              "overflows 63 bits"},
        Fault{"bytes_overflow",
              with_tensor(R"("dtype":"F64","shape":[2305843009213693952],"data_offsets":[0,0])"),
              "overflows 63 bits"},
        Fault{"empty_overflow",
              with_tensor(R"("dtype":"U8","shape":[0,4294967296,4294967296],"data_offsets":[0,0])"),
              "overflows 63 bits"},
        Fault{"nine_dimensions",
              with_tensor(R"("dtype":"U8","shape":[1,1,1,1,1,1,1,1,2],"data_offsets":[0,2])", 2),
              "more than 8 dimensions"},
        Fault{"one_offset",
              with_tensor(R"("dtype":"U8","shape":[2],"data_offsets":[0])", 2),
              "needs two numbers"},
        Fault{"three_offsets",
              with_tensor(R"("dtype":"U8","shape":[2],"data_offsets":[0,2,2])", 2),
              "needs two numbers"},
        Fault{"offsets_reversed",
              with_tensor(R"("dtype":"U8","shape":[2],"data_offsets":[2,0])", 2),
              "takes 2 bytes, but"},
        Fault{"offsets_wrap",
              with_tensor(R"("dtype":"U8","shape":[2],"data_offsets":[18446744073709551615,1])", 2),
              "takes 2 bytes, but"},
        Fault{"wrong_size",
              with_tensor(R"("dtype":"F32","shape":[2],"data_offsets":[0,2])", 2),
              "takes 8 bytes, but"}),
    kName);

std::string two_tensors(const std::string& a, const std::string& b, std::size_t nbytes) {
  return with_header(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":)" + a +
                         R"(},"b":{"dtype":"U8","shape":[2],"data_offsets":)" + b + "}}",
                     nbytes);
}

INSTANTIATE_TEST_SUITE_P(
    Layout,
    SafetensorsFaultTest,
    ::testing::Values(
        Fault{"hole_at_start", two_tensors("[1,3]", "[3,5]", 5), "with a gap before it"},
        Fault{"hole_between",
              two_tensors("[0,2]", "[3,5]", 5),
              "'b' begins at byte 3 of the data, with a gap"},
        Fault{"overlap",
              two_tensors("[0,2]", "[1,3]", 3),
              "'b' begins at byte 1 of the data, inside"},
        Fault{"same_bytes", two_tensors("[0,2]", "[0,2]", 2), "inside the tensor before it"},
        Fault{"data_short",
              two_tensors("[0,2]", "[2,4]", 3),
              "describes 4 bytes of data, but the file has 3"},
        Fault{"data_long",
              two_tensors("[0,2]", "[2,4]", 5),
              "describes 4 bytes of data, but the file has 5"},
        Fault{
            "beyond_file",
            with_tensor(
                R"("dtype":"U8","shape":[4611686018427387904],"data_offsets":[0,4611686018427387904])",
                2),
            "describes 4611686018427387904 bytes"}),
    kName);

TEST(SafetensorsOffsetTest, PointsAtTheFault) {
  const TempDir dir;
  const std::string content = with_tensor(R"("dtype":"I17","shape":[1],"data_offsets":[0,2])", 2);
  put(dir.file("x"), content);
  const FileError e = file_error([&] { SafetensorsFile{dir.file("x")}; });
  EXPECT_EQ(e.offset(),
            static_cast<std::int64_t>(content.find("I17\"") + 3));  // where the bad word ends
}

TEST(SafetensorsOffsetTest, AnyOrderOfFieldsAndNamesIsFine) {
  const TempDir dir;
  put(dir.file("x"),
      with_header(R"({"b" : {"data_offsets":[2,4], "shape":[2], "dtype":"U8"}, "__metadata__":{}, )"
                  R"("c":{"shape":[0],"data_offsets":[2,2],"dtype":"F32"},"a":{)" +
                      kGood + "}}   ",
                  4));
  const SafetensorsFile file(dir.file("x"));
  ASSERT_EQ(file.entries().size(), 3u);
  EXPECT_EQ(file.entries()[0].name, "a");
  EXPECT_EQ(file.entries()[1].name, "c");
  EXPECT_EQ(file.entries()[2].name, "b");
}

TEST(SafetensorsDamageTest, EachTruncationIsRefused) {
  const TempDir dir;
  const std::string whole = get(kSample);
  for (std::size_t n = 0; n < whole.size(); ++n) {
    put(dir.file("cut"), whole.substr(0, n));
    EXPECT_THROW(SafetensorsFile{dir.file("cut")}, FileError) << "cut to " << n << " bytes";
  }
}

TEST(SafetensorsDamageTest, EachFlippedBitIsRefusedOrKeepsTheLayout) {
  const auto layout = [](const SafetensorsFile& file) {
    std::vector<std::pair<std::uint64_t, std::size_t>> out;
    for (const SafetensorsEntry& e : file.entries())
      out.emplace_back(e.offset, e.nbytes);
    return out;
  };
  const TempDir dir;
  const std::string whole = get(kSample);
  const auto expected = layout(SafetensorsFile(kSample));
  const std::size_t header = expected.front().first;
  int loaded = 0;
  for (std::size_t bit = 0; bit < header * 8; ++bit) {
    std::string bad = whole;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    put(dir.file("flip"), bad);
    try {
      EXPECT_EQ(layout(SafetensorsFile(dir.file("flip"))), expected) << "bit " << bit;
      ++loaded;
    } catch (const FileError&) {
    }
  }
  EXPECT_GT(loaded, 0);                                 // letters of names and metadata
  EXPECT_LT(loaded, static_cast<int>(header) * 8 / 2);  // everything else
}

}  // namespace
}  // namespace tandem
