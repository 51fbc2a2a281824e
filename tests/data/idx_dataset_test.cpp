// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/data/idx_dataset.hpp"

#include <gmock/gmock.h>

#include "tandem/core/error.hpp"

#include "data/samples.hpp"
#include "io/temp_dir.hpp"

namespace tandem::datasets {
namespace {

using tandem::testing::file_error;
using tandem::testing::put;
using tandem::testing::TempDir;
using ::testing::ElementsAre;
using ::testing::FloatEq;
using ::testing::HasSubstr;

/// Three images of 1 x 2 and their labels.
class IdxDatasetTest : public ::testing::Test {
 protected:
  IdxDatasetTest() {
    put(images,
        std::string("\0\0\x08\x03\0\0\0\3\0\0\0\1\0\0\0\2", 16) +
            std::string("\0\1\2\3\xfe\xff", 6));
    put_labels("\1\2\1");
  }
  void put_labels(const std::string& values) {
    put(labels, std::string("\0\0\x08\x01\0\0\0", 7) + static_cast<char>(values.size()) + values);
  }
  TempDir dir;
  std::string images = dir.file("images");
  std::string labels = dir.file("labels");
};

TEST_F(IdxDatasetTest, ScalesImagesAndWidensLabels) {
  const IdxDataset set(images, labels, {.mean = 0.5, .stddev = 0.25, .classes = 3});
  EXPECT_EQ(set.size(), 3);
  EXPECT_EQ(set.classes(), 3);
  EXPECT_EQ(set.sample_shape(), (Shape{1, 1, 2}));
  const std::vector<HostArray> parts = samples(set, {2, 0});
  EXPECT_EQ(parts[0].shape, (Shape{2, 1, 1, 2}));
  EXPECT_THAT(
      parts[0].values<float>(),
      ElementsAre(FloatEq((254 / 255.f - 0.5f) * 4), 2, -2, FloatEq((1 / 255.f - 0.5f) * 4)));
  EXPECT_EQ(parts[1].shape, Shape{2});
  EXPECT_THAT(parts[1].values<std::int64_t>(), ElementsAre(1, 1));
}

TEST_F(IdxDatasetTest, GivesDoublesOfFullPrecision) {
  const std::vector<HostArray> parts =
      samples(IdxDataset(images, labels, {.dtype = DType::f64}), {1});
  EXPECT_THAT(parts[0].values<double>(), ElementsAre(2 / 255.0, 3 / 255.0));
  EXPECT_THAT(parts[1].values<std::int64_t>(), ElementsAre(2));
}

TEST_F(IdxDatasetTest, FaultsNameFileOffsetAndFigures) {
  put_labels("\1\12\1");
  FileError e = file_error([&] { IdxDataset(images, labels); });
  EXPECT_EQ(e.path(), labels);
  EXPECT_EQ(e.offset(), 9);
  EXPECT_THAT(e.what(), HasSubstr("label 10 of sample 1 is not one of 0 to 9"));
  put_labels("\1\1");
  e = file_error([&] { IdxDataset(images, labels); });
  EXPECT_THAT(e.what(), HasSubstr("holds 2 labels, but there are 3 images in " + images));
  e = file_error([&] { IdxDataset(labels, images); });
  EXPECT_THAT(e.what(), HasSubstr("images must be u8 of 3 dimensions, but the file holds u8 (2)"));
  put_labels("\1\2\1");
  EXPECT_THROW(IdxDataset(images, labels, {.dtype = DType::u8}), InvalidArgument);
  EXPECT_THROW(IdxDataset(images, labels, {.dtype = DType::bf16}), InvalidArgument);
  EXPECT_THROW(IdxDataset(images, labels, {.stddev = 0}), InvalidArgument);
  EXPECT_THROW(samples(IdxDataset(images, labels), {3}), InvalidArgument);
}

}  // namespace
}  // namespace tandem::datasets
