// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/data/dataset.hpp"

#include <gmock/gmock.h>

#include "tandem/core/error.hpp"
#include "tandem/tensor/factories.hpp"

#include "data/samples.hpp"

namespace tandem::datasets {
namespace {

using ::testing::ElementsAre;

TEST(TensorDatasetTest, GathersRowsOfEachTensor) {
  const std::vector<Tensor> tensors{
      as_strided(tensor({1.f, 2.f, 3.f, 4.f, 5.f, 6.f}), {3, 2}, {1, 3}, 0),
      tensor<std::int64_t>({7, 8, 9})};
  const TensorDataset set(tensors);
  EXPECT_EQ(set.size(), 3);
  const std::vector<HostArray> parts = samples(set, {2, 0, 2});
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].shape, (Shape{3, 2}));
  EXPECT_THAT(parts[0].values<float>(), ElementsAre(3, 6, 1, 4, 3, 6));
  EXPECT_THAT(parts[1].values<std::int64_t>(), ElementsAre(9, 7, 9));
  EXPECT_EQ(samples(set, {})[0].shape, (Shape{0, 2}));
}

TEST(TensorDatasetTest, RefusesWhatIsNoDataSet) {
  const TensorDataset set(std::vector<HostArray>{HostArray(DType::f32, {2, 0})});
  EXPECT_EQ(samples(set, {1})[0].shape, (Shape{1, 0}));
  EXPECT_THROW(samples(set, {2}), InvalidArgument);
  EXPECT_THROW(samples(set, {-1}), InvalidArgument);
  EXPECT_THROW(TensorDataset(std::vector<HostArray>{}), InvalidArgument);
  EXPECT_THROW(TensorDataset({HostArray(DType::f32, {})}), InvalidArgument);
  EXPECT_THROW(TensorDataset({HostArray(DType::f32, {2}), HostArray(DType::f32, {3})}),
               InvalidArgument);
}

}  // namespace
}  // namespace tandem::datasets
