// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/data/known_datasets.hpp"

#include <cmath>
#include <cstdlib>
#include <numeric>

#include <gmock/gmock.h>

#include "tandem/core/error.hpp"

#include "io/temp_dir.hpp"

namespace tandem::datasets {
namespace {

using tandem::testing::file_error;
using tandem::testing::put;
using tandem::testing::TempDir;
using ::testing::HasSubstr;

/// TANDEM_DATA_DIR for the length of a test.
class DataDir {
 public:
  explicit DataDir(const std::string& path) { ::setenv("TANDEM_DATA_DIR", path.c_str(), 1); }
  ~DataDir() { ::unsetenv("TANDEM_DATA_DIR"); }
  DataDir(const DataDir&) = delete;
  DataDir& operator=(const DataDir&) = delete;
};

std::vector<HostArray> all(const Dataset& set) {
  std::vector<std::int64_t> indices(static_cast<std::size_t>(set.size()));
  std::iota(indices.begin(), indices.end(), 0);
  return set.get(indices);
}

void expect_normalised(const HostArray& images) {
  double sum = 0, squares = 0;
  for (const float x : images.values<float>()) {
    sum += x;
    squares += double{x} * x;
  }
  const auto n = static_cast<double>(numel(images.shape));
  EXPECT_NEAR(sum / n, 0, 1e-3);
  EXPECT_NEAR(std::sqrt(squares / n), 1, 1e-3);
}

TEST(DigitsTest, AreThereWithoutAnyPreparation) {
  const auto train = load_digits(Split::train);
  const auto test = load_digits(Split::test, {.dtype = DType::f64});
  EXPECT_EQ(train->size(), 1437);
  EXPECT_EQ(test->size(), 360);
  EXPECT_EQ(train->sample_shape(), (Shape{1, 8, 8}));
  const std::vector<HostArray> parts = all(*train);
  expect_normalised(parts[0]);
  std::vector<int> count(10);
  for (const std::int64_t label : parts[1].values<std::int64_t>())
    ++count.at(static_cast<std::size_t>(label));
  EXPECT_THAT(count, ::testing::Each(::testing::Gt(100)));
  EXPECT_EQ(all(*test)[0].dtype, DType::f64);
}

TEST(FashionMnistTest, DebiansPackageIsRead) {
  if (!std::filesystem::exists("/usr/share/datasets/fashion-mnist"))
    GTEST_SKIP() << "needs the package dataset-fashion-mnist";
  const auto test = load_fashion_mnist(Split::test);
  EXPECT_EQ(test->size(), 10'000);
  EXPECT_EQ(test->sample_shape(), (Shape{1, 28, 28}));
  const std::vector<HostArray> parts = all(*test);
  std::vector<int> count(10);
  for (const std::int64_t label : parts[1].values<std::int64_t>())
    ++count.at(static_cast<std::size_t>(label));
  EXPECT_THAT(count, ::testing::Each(1000));  // the data set is balanced
  EXPECT_EQ(load_fashion_mnist(Split::train)->size(), 60'000);
}

/// One image of 1 x 1, as both parts of a data set.
void put_tiny(const std::string& dir) {
  std::filesystem::create_directories(dir);
  for (const std::string part : {"/train", "/t10k"}) {
    put(dir + part + "-images-idx3-ubyte",
        std::string("\0\0\x08\x03\0\0\0\1\0\0\0\1\0\0\0\1\x80", 17));
    put(dir + part + "-labels-idx1-ubyte", std::string("\0\0\x08\x01\0\0\0\1\7", 9));
  }
}

TEST(DataDirTest, TheArgumentComesBeforeTheVariableAndThatBeforeTheDefault) {
  const TempDir dir;
  put_tiny(dir.file("digits"));
  EXPECT_EQ(load_digits(Split::train, {.dir = dir.file("digits")})->size(), 1);
  EXPECT_EQ(load_fashion_mnist(Split::test, {.dir = dir.file("digits")})->size(), 1);
  const DataDir variable(dir.path().string());
  EXPECT_EQ(load_digits(Split::test)->size(), 1);
  EXPECT_THAT(file_error([&] { load_digits(Split::test, {.dir = dir.file("none")}); }).what(),
              HasSubstr("was not found"));
}

TEST(DataDirTest, AMissingDataSetNamesThePathAndTheRemedy) {
  const TempDir dir;
  const FileError e =
      file_error([&] { load_fashion_mnist(Split::train, {.dir = dir.file("none")}); });
  EXPECT_EQ(e.path(), dir.file("none"));
  EXPECT_THAT(e.what(), HasSubstr("the data set fashion-mnist was not found"));
  EXPECT_THAT(e.what(), HasSubstr("apt-get install dataset-fashion-mnist"));
  EXPECT_THAT(e.what(), HasSubstr("TANDEM_DATA_DIR"));
}

TEST(DataDirTest, AVariableThatNamesNoDirectoryIsAnError) {
  const TempDir dir;
  const DataDir variable(dir.file("none"));
  const FileError e = file_error([&] { load_digits(Split::train); });
  EXPECT_EQ(e.path(), dir.file("none"));
  EXPECT_THAT(e.what(), HasSubstr("is not a directory, but TANDEM_DATA_DIR is set to it"));
}

TEST(DataDirTest, ASetWithoutSamplesIsRefused) {
  const TempDir dir;
  put_tiny(dir.file("set"));
  put(dir.file("set/train-images-idx3-ubyte"),
      std::string("\0\0\x08\x03\0\0\0\0\0\0\0\1\0\0\0\1", 16));
  put(dir.file("set/train-labels-idx1-ubyte"), std::string("\0\0\x08\x01\0\0\0\0", 8));
  const FileError e = file_error([&] { load_digits(Split::train, {.dir = dir.file("set")}); });
  EXPECT_EQ(e.path(), dir.file("set/train-images-idx3-ubyte"));
  EXPECT_THAT(e.what(), HasSubstr("holds no samples"));
}

TEST(DataDirTest, TestImagesAreOfTheSizeOfThoseToTrainOn) {
  const TempDir dir;
  put_tiny(dir.file("set"));
  put(dir.file("set/t10k-images-idx3-ubyte"),
      std::string("\0\0\x08\x03\0\0\0\1\0\0\0\1\0\0\0\2\x80\x80", 18));
  const FileError e = file_error([&] { load_digits(Split::test, {.dir = dir.file("set")}); });
  EXPECT_EQ(e.path(), dir.file("set/t10k-images-idx3-ubyte"));
  EXPECT_THAT(e.what(),
              HasSubstr("its images are (1, 1, 2), but the training images are (1, 1, 1)"));
}

// The images promise 4 GiB; that the labels are fewer is seen before.
TEST(IdxCountTest, IsComparedBeforeImagesAreRead) {
  const TempDir dir;
  put(dir.file("images"),
      std::string("\0\0\x08\x03\0\0\x10\0\0\0\4\0\0\0\4\0", 16) + "none of them");
  put(dir.file("labels"), std::string("\0\0\x08\x01\0\0\0\1\7", 9));
  EXPECT_THAT(file_error([&] { IdxDataset(dir.file("images"), dir.file("labels")); }).what(),
              HasSubstr("holds 1 labels, but there are 4096 images"));
}

TEST(DataDirTest, AMissingFileIsNamed) {
  const TempDir dir;
  put_tiny(dir.file("set"));
  std::filesystem::remove(dir.file("set/t10k-labels-idx1-ubyte"));
  const FileError e = file_error([&] { load_digits(Split::test, {.dir = dir.file("set")}); });
  EXPECT_EQ(e.path(), dir.file("set/t10k-labels-idx1-ubyte.gz"));
  EXPECT_EQ(load_digits(Split::train, {.dir = dir.file("set")})->size(), 1);
}

}  // namespace
}  // namespace tandem::datasets
