// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Sparse tensors of virtual devices: their values are those of the host's, and their memory is the
// device's.

#include <gmock/gmock.h>

#include "libtorch/registered_devices.hpp"
#include "thrown_text.hpp"

namespace tandem::libtorch::test {
namespace {

using tandem::testing::thrown_text;
using ::testing::AllOf;
using ::testing::HasSubstr;

class SparseTest : public RegisteredDevicesTest {
 protected:
  /// Has an entry twice.
  const torch::Tensor host_ =
      torch::sparse_coo_tensor(torch::tensor({{0, 2, 2, 1}, {1, 0, 0, 1}}),
                               torch::tensor({{1., 2.}, {3., 4.}, {5., 6.}, {7., 8.}}),
                               {3, 2, 2});
  const torch::Tensor x_ = host_.to(device(1));
};

TEST_F(SparseTest, ComputesAsOnTheHost) {
  EXPECT_EQ(x_.device(), device(1));
  EXPECT_EQ(gap(x_.to_dense(), host_.to_dense()), 0);
  EXPECT_EQ(gap((x_ + 2 * x_).to_dense(), 3 * host_.to_dense()), 0);
  EXPECT_EQ(gap(torch::ones({3, 2, 2}, device(1)) + x_, 1 + host_.to_dense()), 0);
  EXPECT_EQ(gap(x_.norm(), host_.norm()), 0);
  EXPECT_EQ(gap(torch::zeros_like(x_).to_dense(), torch::zeros({3, 2, 2})), 0);
  const torch::Tensor once = x_.coalesce();
  EXPECT_EQ(once._nnz(), 3);
  EXPECT_EQ(gap(once._values(), host_.coalesce()._values()), 0);
  EXPECT_EQ(once._indices().device(), device(1));
}

TEST_F(SparseTest, IsWrittenInPlace) {
  torch::Tensor y = x_.clone(), dense = torch::zeros({3, 2, 2}, device(1));
  const torch::Tensor same = y;
  y.add_(x_).mul_(2);
  EXPECT_TRUE(same.is_same(y));
  EXPECT_EQ(gap(y.to_dense(), 4 * host_.to_dense()), 0);
  EXPECT_EQ(gap(x_.to_dense(), host_.to_dense()), 0);
  torch::Tensor once = x_.coalesce();
  EXPECT_TRUE(once.neg_().neg_().is_coalesced());
  once.add_(x_);
  EXPECT_FALSE(once.is_coalesced());
  EXPECT_EQ(once.coalesce()._nnz(), 3);
  dense.add_(x_, -1);
  EXPECT_EQ(gap(dense, -host_.to_dense()), 0);
  y.zero_();
  EXPECT_EQ(y._nnz(), 0);
}

TEST_F(SparseTest, GoesFromDeviceToDevice) {
  const torch::Tensor there = x_.to(device(2)), back = there.cpu();
  EXPECT_EQ(there.device(), device(2));
  EXPECT_EQ(gap(there.to_dense(), host_.to_dense()), 0);
  EXPECT_EQ(gap(back.to_dense(), host_.to_dense()), 0);
  EXPECT_THAT(thrown_text<c10::Error>([&] { x_ + there; }),
              AllOf(HasSubstr("on the same device"), HasSubstr("tandem:1"), HasSubstr("tandem:2")));
  EXPECT_THAT(thrown_text<c10::Error>([&] { x_ + host_; }), HasSubstr("on the same device"));
}

TEST_F(SparseTest, ItsMemoryIsTheDevices) {
  const std::size_t before = in_use(5), elsewhere = in_use(0);
  {
    const torch::Tensor y = x_.to(device(5)), sum = y + y;
    // Two i64 and two f32 an entry; a sum keeps the entries of both.
    EXPECT_GE(in_use(5), before + 4 * (2 * 8 + 2 * 4) + 8 * (2 * 8 + 2 * 4));
    EXPECT_EQ(in_use(0), elsewhere);
  }
  EXPECT_EQ(in_use(5), before);
}

TEST_F(SparseTest, IsAnEmbeddingsGradient) {
  torch::nn::Embedding table(torch::nn::EmbeddingOptions(10, 3).sparse(true));
  const torch::Tensor before = table->weight.detach().clone();
  table->to(device(1));
  torch::optim::SGD optimizer(table->parameters(), 1.);
  const torch::Tensor words = torch::tensor({1, 7, 1}).to(device(1));
  for (int backward = 0; backward < 2; ++backward)
    table(words).sum().backward();
  EXPECT_TRUE(table->weight.grad().is_sparse());
  optimizer.step();
  torch::Tensor expected = before;
  expected[1] -= 4;
  expected[7] -= 2;
  EXPECT_LE(gap(table->weight.detach(), expected), 1e-6);
}

}  // namespace
}  // namespace tandem::libtorch::test
