// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/io/npy.hpp"

#include <numeric>

#include <gmock/gmock.h>

#include "tandem/tensor/factories.hpp"

#include "io/temp_dir.hpp"
#include "thrown_text.hpp"

namespace tandem {
namespace {

using testing::file_error;
using testing::get;
using ::testing::HasSubstr;
using testing::put;

/// A file that numpy.save wrote (data/make_npy.py).
std::string sample(const std::string& name) {
  return std::string(TANDEM_IO_TEST_DATA) + "/npy/" + name + ".npy";
}

std::vector<double> counted(int n) {
  std::vector<double> values(static_cast<std::size_t>(n));
  std::iota(values.begin(), values.end(), 0);
  return values;
}

struct Type {
  const char* name;
  DType dtype;
};

class NpyTypeTest : public ::testing::TestWithParam<Type> {};

TEST_P(NpyTypeTest, NumPysFilesAreReadAndWrittenByteForByte) {
  const auto [name, dtype] = GetParam();
  const Tensor x = load_npy(sample(name));
  EXPECT_EQ(x.dtype(), dtype);
  EXPECT_EQ(x.shape(), (Shape{2, 3, 4}));
  std::vector<double> expected = counted(24);
  if (dtype == DType::boolean) {
    for (double& v : expected)
      v = static_cast<int>(v) % 3 == 0;
  }
  EXPECT_EQ(x.to_doubles(), expected);

  const testing::TempDir dir;
  save_npy(dir.file("x.npy"), x);
  EXPECT_EQ(get(dir.file("x.npy")), get(sample(name)));
  EXPECT_EQ(dir.names().size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(Types,
                         NpyTypeTest,
                         ::testing::Values(Type{"f2", DType::f16},
                                           Type{"f4", DType::f32},
                                           Type{"f8", DType::f64},
                                           Type{"i4", DType::i32},
                                           Type{"i8", DType::i64},
                                           Type{"u1", DType::u8},
                                           Type{"b1", DType::boolean}),
                         [](const auto& i) { return std::string(i.param.name); });

TEST(NpyTest, FortransOrderAndTheOtherByteOrderAreTurnedRound) {
  for (const char* name : {"fortran", "fortran_v2", "big_endian"}) {
    const Tensor x = load_npy(sample(name));
    EXPECT_EQ(x.shape(), (Shape{2, 3, 4})) << name;
    EXPECT_EQ(x.to_doubles(), counted(24)) << name;
  }
}

TEST(NpyTest, ScalarVectorAndEmpty) {
  EXPECT_EQ(load_npy(sample("scalar")).shape(), Shape{});
  EXPECT_EQ(load_npy(sample("scalar")).item(), 2.5);
  EXPECT_EQ(load_npy(sample("vector")).to_doubles(), counted(5));
  EXPECT_EQ(load_npy(sample("empty")).shape(), (Shape{3, 0, 2}));
  const testing::TempDir dir;
  for (const char* name : {"scalar", "vector", "empty"}) {
    save_npy(dir.file(name), load_npy(sample(name)));
    EXPECT_EQ(get(dir.file(name)), get(sample(name))) << name;
  }
}

TEST(NpyTest, StridedTensorsAreWrittenInOrder) {
  const testing::TempDir dir;
  const Tensor x = load_npy(sample("f4")).permute({2, 0, 1});
  save_npy(dir.file("x.npy"), x);
  const Tensor y = load_npy(dir.file("x.npy"));
  EXPECT_EQ(y.shape(), (Shape{4, 2, 3}));
  EXPECT_EQ(y.to_doubles(), x.to_doubles());
}

TEST(NpyTest, TypesThatTandemDoesNotHold) {
  const FileError e = file_error([] { load_npy(sample("complex")); });
  EXPECT_THAT(e.what(), HasSubstr("'<c8'"));
  EXPECT_THAT(e.what(), HasSubstr("astype"));
  EXPECT_EQ(e.offset(), 20);
  EXPECT_THAT(file_error([] { load_npy(sample("structure")); }).what(), HasSubstr("structures"));
}

TEST(NpyTest, BFloat16HasNoNameInNumPy) {
  const testing::TempDir dir;
  EXPECT_THAT(testing::thrown_text<InvalidArgument>(
                  [&] { save_npy(dir.file("x.npy"), zeros({2}, {.dtype = DType::bf16})); }),
              ::testing::AllOf(HasSubstr("no dtype for bf16"), HasSubstr("to(DType::f32)")));
  EXPECT_TRUE(dir.names().empty());
}

class NpyFaultTest : public ::testing::Test {
 protected:
  /// The error of the sample f4 with `from` replaced by `to`, of the same length.
  FileError changed(const std::string& from, const std::string& to) {
    std::string content = get(sample("f4"));
    const std::size_t at = content.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    content.replace(at, from.size(), to);
    return with(content);
  }
  FileError with(const std::string& content) {
    put(path_, content);
    FileError e = file_error([&] { read_npy(path_); });
    EXPECT_EQ(e.path(), path_) << e.what();
    return e;
  }

  testing::TempDir dir_;
  const std::string path_ = dir_.file("x.npy");
};

TEST_F(NpyFaultTest, CutOffAnywhere) {
  const std::string whole = get(sample("f4"));
  for (std::size_t n = 0; n < whole.size(); ++n) {
    const FileError e = with(whole.substr(0, n));
    EXPECT_GE(e.offset(), 0) << n << ": " << e.what();
    EXPECT_LE(e.offset(), static_cast<std::int64_t>(whole.size())) << n;
  }
  EXPECT_EQ(with(whole + "x").offset(), static_cast<std::int64_t>(whole.size()));
}

TEST_F(NpyFaultTest, NoNpyAndOtherVersions) {
  EXPECT_THAT(with("a text that is long enough").what(), HasSubstr("not a .npy file"));
  const FileError e = changed(std::string("\x01\x00v", 3), std::string("\x09\x00v", 3));
  EXPECT_THAT(e.what(), HasSubstr("version 9"));
  EXPECT_EQ(e.offset(), 6);
}

TEST_F(NpyFaultTest, HeadersThatAreNotOfTheFormat) {
  EXPECT_THAT(changed("'descr'", "'dexcr'").what(), HasSubstr("'dexcr'"));
  EXPECT_THAT(changed("'shape'", "'descr'").what(), HasSubstr("twice"));
  EXPECT_THAT(changed("False", "Maybe").what(), HasSubstr("needs True or False"));
  EXPECT_THAT(changed("(2, 3, 4)", "(2, x, 4)").what(), HasSubstr("needs a size"));
  EXPECT_THAT(changed("(2, 3, 4)", "(2, -3,4)").what(), HasSubstr("needs a size"));
  EXPECT_THAT(changed("(2, 3, 4)", "(2 3, 4) ").what(), HasSubstr("needs ',' or ')'"));
  EXPECT_THAT(changed("(2, 3, 4), }", "(2, 3, 4)   ").what(), HasSubstr("','"));
  EXPECT_THAT(changed("}   ", "} a ").what(), HasSubstr("continues after"));
  EXPECT_THAT(changed("'shape': (2, 3, 4), ", std::string(20, ' ')).what(),
              HasSubstr("no 'shape'"));
}

TEST_F(NpyFaultTest, HeadersOfOtherHandsAreRead) {
  std::string content = get(sample("f4"));
  const std::string from = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3, 4), }";
  const std::string to = "{\"shape\":(2,3,4,1) ,\"fortran_order\" :False,\"descr\":\"<f4\"}";
  content.replace(content.find(from), from.size(), to + std::string(from.size() - to.size(), ' '));
  put(path_, content);
  EXPECT_EQ(load_npy(path_).shape(), (Shape{2, 3, 4, 1}));
  EXPECT_EQ(load_npy(path_).to_doubles(), counted(24));
}

// What numpy.load says of each: an unknown version, a shape that is a number, a number of Python 2.
TEST_F(NpyFaultTest, IsAsStrictAsNumPy) {
  std::string content = get(sample("f4"));
  content[7] = '\1';
  EXPECT_THAT(with(content).what(), HasSubstr(".npy version 1.1"));
  EXPECT_THAT(changed("(2, 3, 4)", "(24)     ").what(), HasSubstr("needs ',' here"));
  EXPECT_THAT(changed("(2, 3, 4)", "(2, 03,4)").what(), HasSubstr("needs a size here"));
}

TEST_F(NpyFaultTest, SizesThatCannotBe) {
  EXPECT_THAT(changed("(2, 3, 4)", "(2, 3, 5)").what(), HasSubstr("calls for 120 bytes"));
  EXPECT_THAT(
      changed("(2, 3, 4), }                      ", "(9000000000,9000000000,9000000000)}").what(),
      HasSubstr("overflows"));
  EXPECT_THAT(changed("(2, 3, 4), }           ", "(1,1,1,1,1,1,1,1,24) } ").what(),
              HasSubstr("more than the 8 dimensions"));
  put(path_, get(sample("f4")));
  EXPECT_THAT(file_error([&] { read_npy(path_, 95); }).what(), HasSubstr("the limit is 95"));
}

TEST_F(NpyFaultTest, BoolsAreZeroOrOne) {
  std::string content = get(sample("b1"));
  content.back() = '\2';
  const FileError e = with(content);
  EXPECT_THAT(e.what(), HasSubstr("expected 0 or 1"));
  EXPECT_EQ(e.offset(), static_cast<std::int64_t>(content.size()) - 1);
}

TEST_F(NpyFaultTest, MissingFileAndFailedWrite) {
  EXPECT_EQ(file_error([&] { load_npy(path_); }).path(), path_);
  const std::string nowhere = dir_.file("no/x.npy");
  EXPECT_EQ(file_error([&] { save_npy(nowhere, zeros({2})); }).path(), nowhere);
}

}  // namespace
}  // namespace tandem
