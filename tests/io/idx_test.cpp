// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/io/idx.hpp"

#include <gmock/gmock.h>
#include <zlib.h>

#include "tandem/core/error.hpp"

#include "io/allocation_watch.hpp"
#include "io/temp_dir.hpp"

namespace tandem {
namespace {

using ::testing::ElementsAre;
using testing::file_error;
using testing::get;
using ::testing::HasSubstr;
using testing::put;
using testing::TempDir;

std::string big_endian(std::uint32_t v) {
  return {static_cast<char>(v >> 24),
          static_cast<char>(v >> 16),
          static_cast<char>(v >> 8),
          static_cast<char>(v)};
}

std::string idx(char type, const std::vector<std::uint32_t>& sizes, const std::string& data) {
  std::string out{'\0', '\0', type, static_cast<char>(sizes.size())};
  for (const std::uint32_t s : sizes)
    out += big_endian(s);
  return out + data;
}

void put_gzip(const std::string& path, const std::string& content) {
  const gzFile f = gzopen(path.c_str(), "wb9");
  ASSERT_EQ(gzwrite(f, content.data(), static_cast<unsigned>(content.size())),
            static_cast<int>(content.size()));
  ASSERT_EQ(gzclose(f), Z_OK);
}

template <class T>
std::vector<T> elements(const std::string& path) {
  const HostArray array = read_idx(path);
  const std::span<const T> values = array.values<T>();
  return {values.begin(), values.end()};
}

TEST(IdxTest, ReadsEachTypeInHostOrder) {
  const TempDir dir;
  put(dir.file("a"), idx(8, {2, 3}, "\1\2\3\4\5\377"));
  const HostArray bytes = read_idx(dir.file("a"));
  EXPECT_EQ(bytes.dtype, DType::u8);
  EXPECT_EQ(bytes.shape, (Shape{2, 3}));
  EXPECT_THAT(bytes.values<std::uint8_t>(), ElementsAre(1, 2, 3, 4, 5, 255));

  put(dir.file("b"), idx(12, {2}, big_endian(0x01020304) + big_endian(0xFFFFFFFE)));
  EXPECT_THAT(elements<std::int32_t>(dir.file("b")), ElementsAre(16909060, -2));

  put(dir.file("c"),
      idx(13, {2}, big_endian(0x3FC00000) + big_endian(0xC2280000)));  // IEEE 754: 1.5, -42
  EXPECT_THAT(elements<float>(dir.file("c")), ElementsAre(1.5f, -42.0f));

  put(dir.file("d"), idx(14, {1, 1}, big_endian(0x3FF80000) + big_endian(1)));  // 1.5 and one bit
  EXPECT_THAT(elements<double>(dir.file("d")), ElementsAre(1.5 + 0x1p-52));
}

TEST(IdxTest, GzipIsToldByContentNotByName) {
  const TempDir dir;
  const std::string content = idx(8, {3, 1}, "abc");
  put_gzip(dir.file("plain-name"), content);
  put(dir.file("name.gz"), content);
  for (const char* name : {"plain-name", "name.gz"}) {
    EXPECT_THAT(elements<std::uint8_t>(dir.file(name)), ElementsAre('a', 'b', 'c')) << name;
  }
}

TEST(IdxTest, EmptyDimensionsAreFine) {
  const TempDir dir;
  put(dir.file("a"), idx(13, {0, 28, 28}, ""));
  EXPECT_EQ(read_idx(dir.file("a")).shape, (Shape{0, 28, 28}));
  put_gzip(dir.file("b"), idx(13, {0, 28, 28}, ""));
  EXPECT_THAT(read_idx(dir.file("b")).bytes, ::testing::IsEmpty());
}

struct IdxFault {
  const char* name;
  std::string content;
  std::int64_t offset;  // in the IDX data
  const char* text;
};

class IdxFaultTest : public ::testing::TestWithParam<IdxFault> {};

TEST_P(IdxFaultTest, IsRefusedBeforeMemoryIsTaken) {
  const IdxFault& fault = GetParam();
  const TempDir dir;
  put(dir.file("plain"), fault.content);
  put_gzip(dir.file("gzip"), fault.content);
  for (const char* name : {"plain", "gzip"}) {
    testing::reset_largest_allocation();
    const FileError e = file_error([&] { read_idx(dir.file(name)); });
    EXPECT_LT(testing::largest_allocation(), 200'000u);
    EXPECT_THAT(e.what(), HasSubstr(fault.text)) << name;
    EXPECT_EQ(e.offset(), fault.offset) << name << ": " << e.what();
    EXPECT_EQ(e.path(), dir.file(name));
  }
}

constexpr auto kIdxName = [](const auto& test) { return test.param.name; };

INSTANTIATE_TEST_SUITE_P(
    Faults,
    IdxFaultTest,
    ::testing::Values(
        IdxFault{"magic", "\x7f" + idx(8, {1}, "x").substr(1), 0, "not an IDX file"},
        IdxFault{"type", idx(9, {1}, "x"), 2, "IDX type 9 is not one of"},
        IdxFault{"rank_255",
                 idx(8, std::vector<std::uint32_t>(255, 1), "x"),
                 3,
                 "array of 255 dimensions"},
        IdxFault{"rank_9",
                 idx(8, std::vector<std::uint32_t>(9, 1), "x"),
                 3,
                 "array of 9 dimensions; expected 1 to 8"},
        IdxFault{"rank_0", idx(8, {}, "x"), 3, "array of 0 dimensions"},
        IdxFault{
            "overflow", idx(14, {UINT32_MAX, UINT32_MAX, UINT32_MAX}, "x"), 4, "overflow 63 bits"},
        IdxFault{"empty_overflow", idx(8, {0, UINT32_MAX, UINT32_MAX}, ""), 4, "overflow 63 bits"},
        IdxFault{"huge", idx(8, {UINT32_MAX, 1000}, "x"), 4, "call for 4294967295000 bytes"}),
    kIdxName);

TEST(IdxTest, ShortAndTrailingDataAreRefused) {
  const TempDir dir;
  const std::string good = idx(8, {2, 3}, "abcdef");
  put(dir.file("long"), good + "gh");
  EXPECT_EQ(file_error([&] { read_idx(dir.file("long")); }).offset(), 18);
  put_gzip(dir.file("long.gz"), good + "gh");
  const FileError e = file_error([&] { read_idx(dir.file("long.gz")); });
  EXPECT_EQ(e.offset(), 18);
  EXPECT_THAT(e.what(), HasSubstr("go on (counted in the inflated data)"));
  put_gzip(dir.file("short.gz"), good.substr(0, 16));
  EXPECT_EQ(file_error([&] { read_idx(dir.file("short.gz")); }).offset(), 16);
  put_gzip(dir.file("tail.gz"), good);
  const std::string gzip = get(dir.file("tail.gz"));
  put(dir.file("tail.gz"), gzip + "x");
  EXPECT_EQ(file_error([&] { read_idx(dir.file("tail.gz")); }).offset(),
            static_cast<std::int64_t>(gzip.size()));
}

TEST(IdxTest, AGzipBombStopsAtThePromisedSize) {
  const TempDir dir;
  put_gzip(dir.file("bomb"), idx(8, {10}, std::string(std::size_t{64} << 20, '\0')));
  testing::reset_largest_allocation();
  EXPECT_THAT(file_error([&] { read_idx(dir.file("bomb")); }).what(), HasSubstr("go on"));
  EXPECT_LT(testing::largest_allocation(), 200'000u);
}

TEST(IdxTest, MemoryIsTakenAsTheBytesCome) {
  const TempDir dir;
  // Dense enough that 400 MB could follow, but it ends after 1 MB.
  const std::string whole =
      idx(8, {400'000'000}, std::string(std::size_t{1} << 20, '\0')) + std::string(600'000, 'x');
  put_gzip(dir.file("x"), whole);
  std::string padded = get(dir.file("x"));
  put(dir.file("x"), padded + std::string(500'000, '\0'));
  testing::reset_largest_allocation();
  EXPECT_THAT(file_error([&] { read_idx(dir.file("x")); }).what(), HasSubstr("too early"));
  EXPECT_LT(testing::largest_allocation(), 10'000'000u);
}

TEST(IdxTest, TheHeaderIsReadAlone) {
  const TempDir dir;
  put(dir.file("x"), idx(8, {4, 28, 28}, "cut off"));
  const IdxHeader header = read_idx_header(dir.file("x"));
  EXPECT_EQ(header.dtype, DType::u8);
  EXPECT_EQ(header.shape, (Shape{4, 28, 28}));
}

TEST(IdxTest, TheLimitHoldsForFilesThatAreReallyThatLarge) {
  const TempDir dir;
  put(dir.file("sparse"), idx(8, {1u << 20, 1u << 20}, ""));
  std::filesystem::resize_file(dir.file("sparse"), (std::uintmax_t{1} << 40) + 12);
  testing::reset_largest_allocation();
  EXPECT_THAT(file_error([&] { read_idx(dir.file("sparse")); }).what(),
              HasSubstr("pass a higher limit to read_idx"));
  EXPECT_LT(testing::largest_allocation(), 200'000u);
  put(dir.file("small"), idx(8, {3}, "abc"));
  EXPECT_EQ(read_idx(dir.file("small"), 3).bytes.size(), 3u);
  EXPECT_THROW(read_idx(dir.file("small"), 2), FileError);
}

TEST(IdxTest, EachTruncationIsRefused) {
  const TempDir dir;
  put(dir.file("plain"), idx(12, {2, 2}, "0123456789abcdef"));
  put_gzip(dir.file("gzip"), idx(12, {2, 2}, "0123456789abcdef"));
  for (const char* name : {"plain", "gzip"}) {
    const std::string whole = get(dir.file(name));
    ASSERT_NO_THROW(read_idx(dir.file(name)));
    for (std::size_t n = 0; n < whole.size(); ++n) {
      put(dir.file("cut"), whole.substr(0, n));
      EXPECT_THROW(read_idx(dir.file("cut")), FileError) << name << " cut to " << n << " bytes";
    }
  }
}

TEST(IdxTest, EachFlippedBitIsRefusedOrKeepsTheSize) {
  const TempDir dir;
  const std::string whole = idx(12, {2, 2}, "0123456789abcdef");
  for (std::size_t bit = 0; bit < 12 * 8; ++bit) {
    std::string bad = whole;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    put(dir.file("flip"), bad);
    try {
      EXPECT_EQ(read_idx(dir.file("flip")).bytes.size(), 16u) << "bit " << bit;
    } catch (const FileError&) {
    }
  }
}

TEST(IdxTest, EachFlippedBitOfAGzipIsRefusedOrHarmless) {
  const TempDir dir;
  put_gzip(dir.file("good"), idx(8, {2, 8}, "0123456789abcdef"));
  const std::string whole = get(dir.file("good"));
  const auto data = read_idx(dir.file("good")).bytes;
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string bad = whole;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    put(dir.file("flip"), bad);
    try {  // a header may name another time or system without harm
      EXPECT_EQ(read_idx(dir.file("flip")).bytes, data) << "bit " << bit;
    } catch (const FileError&) {
    }
  }
}

}  // namespace
}  // namespace tandem
