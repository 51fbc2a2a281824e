// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/data/dataset.hpp"

#include <algorithm>

#include <gmock/gmock.h>

#include "tandem/core/error.hpp"
#include "tandem/data/idx_dataset.hpp"
#include "tandem/tensor/factories.hpp"

#include "io/temp_dir.hpp"

namespace tandem::datasets {
namespace {

using tandem::testing::file_error;
using tandem::testing::put;
using tandem::testing::TempDir;
using ::testing::ElementsAre;
using ::testing::FloatEq;
using ::testing::HasSubstr;

std::vector<HostArray> get(const Dataset& set, std::vector<std::int64_t> indices) {
  return set.get(indices);
}

TEST(TensorDatasetTest, GathersRowsOfEachTensor) {
  const std::vector<Tensor> tensors{
      as_strided(tensor({1.f, 2.f, 3.f, 4.f, 5.f, 6.f}), {3, 2}, {1, 3}, 0),
      tensor<std::int64_t>({7, 8, 9})};
  const TensorDataset set(tensors);
  EXPECT_EQ(set.size(), 3);
  const std::vector<HostArray> parts = get(set, {2, 0, 2});
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].shape, (Shape{3, 2}));
  EXPECT_THAT(parts[0].values<float>(), ElementsAre(3, 6, 1, 4, 3, 6));
  EXPECT_THAT(parts[1].values<std::int64_t>(), ElementsAre(9, 7, 9));
  EXPECT_EQ(get(set, {})[0].shape, (Shape{0, 2}));
}

TEST(TensorDatasetTest, RefusesWhatIsNoDataSet) {
  const TensorDataset set(std::vector<HostArray>{HostArray(DType::f32, {2, 0})});
  EXPECT_EQ(get(set, {1})[0].shape, (Shape{1, 0}));
  EXPECT_THROW(get(set, {2}), InvalidArgument);
  EXPECT_THROW(get(set, {-1}), InvalidArgument);
  EXPECT_THROW(TensorDataset(std::vector<HostArray>{}), InvalidArgument);
  EXPECT_THROW(TensorDataset({HostArray(DType::f32, {})}), InvalidArgument);
  EXPECT_THROW(TensorDataset({HostArray(DType::f32, {2}), HostArray(DType::f32, {3})}),
               InvalidArgument);
}

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
  const std::vector<HostArray> parts = get(set, {2, 0});
  EXPECT_EQ(parts[0].shape, (Shape{2, 1, 1, 2}));
  EXPECT_THAT(
      parts[0].values<float>(),
      ElementsAre(FloatEq((254 / 255.f - 0.5f) * 4), 2, -2, FloatEq((1 / 255.f - 0.5f) * 4)));
  EXPECT_EQ(parts[1].shape, Shape{2});
  EXPECT_THAT(parts[1].values<std::int64_t>(), ElementsAre(1, 1));
}

TEST_F(IdxDatasetTest, GivesDoublesOfFullPrecision) {
  const std::vector<HostArray> parts = get(IdxDataset(images, labels, {.dtype = DType::f64}), {1});
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
  EXPECT_THAT(e.what(), HasSubstr("2 labels for 3 images of " + images));
  e = file_error([&] { IdxDataset(labels, images); });
  EXPECT_THAT(e.what(), HasSubstr("images must be u8 of 3 dimensions, but the file holds u8 (2)"));
  put_labels("\1\2\1");
  EXPECT_THROW(IdxDataset(images, labels, {.dtype = DType::u8}), InvalidArgument);
  EXPECT_THROW(IdxDataset(images, labels, {.dtype = DType::bf16}), InvalidArgument);
  EXPECT_THROW(IdxDataset(images, labels, {.stddev = 0}), InvalidArgument);
  EXPECT_THROW(get(IdxDataset(images, labels), {3}), InvalidArgument);
}

}  // namespace
}  // namespace tandem::datasets
