// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Dropout by row on GPUs of PyTorch: the masks are those of tandem's own tensors on the host.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tandem/libtorch/exchange.hpp"
#include "tandem/ops/dropout.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/tensor/factories.hpp"

#include "gpu/gpus.hpp"
#include "libtorch/graph/row_dropout.hpp"

namespace tandem::libtorch::test {
namespace {

class GpuDropoutTest : public GpusTest {};

/// f() as a replica with these rows of a batch of 20.
template <class F>
auto in_replica(RowRange rows, int row_dim, F f) {
  const ContextScope scope([&](Context& c) {
    c.frame = std::make_shared<ForwardFrame>(ForwardFrame{.seed = 0x1234'5678'9ABC, .forward = 3});
    c.module_path = std::make_shared<const std::string>("net.drop");
    c.rows = rows;
    c.batch_rows = 20;
    c.row_dim = row_dim;
  });
  return f();
}

TEST_F(GpuDropoutTest, MasksAreThoseOfTheHost) {
  struct Case {
    std::vector<std::int64_t> shape;
    int row_dim;
    RowRange rows;
  };
  for (const Case& c : {Case{{5, 1}, 0, {0, 5}},
                        Case{{5, 7}, 0, {15, 20}},
                        Case{{10, 8}, 0, {3, 8}},  // two rows of the tensor for each of the batch
                        Case{{3, 5, 6}, 1, {3, 8}},
                        Case{{2, 3, 4, 5}, -1, {0, 5}},
                        Case{{0, 4}, 0, {0, 5}}}) {
    const Tensor host = in_replica(c.rows, c.row_dim, [&] {
      return dropout(ones(Shape(std::span<const std::int64_t>(c.shape))), 0.3);
    });
    const at::Tensor there = in_replica(c.rows, c.row_dim, [&] {
      return row_dropout(at::ones(c.shape, at::device(at::kCUDA)), 0.3);
    });
    const at::Tensor flat = there.cpu().flatten().to(at::kDouble);
    EXPECT_EQ(std::vector<double>(flat.const_data_ptr<double>(),
                                  flat.const_data_ptr<double>() + flat.numel()),
              host.to_doubles())
        << there.sizes();
  }
}

TEST_F(GpuDropoutTest, MasksOfManyPiecesAreThoseOfTheHost) {
  constexpr std::int64_t kColumns = 1'500'001;  // of three rows, whose blocks are not all at once
  const Tensor host = in_replica({2, 5}, 0, [&] { return dropout(ones({3, kColumns}), 0.5); });
  const at::Tensor there = in_replica({2, 5}, 0, [&] {
    return row_dropout(at::ones({3, kColumns}, at::device(at::kCUDA)), 0.5);
  });
  EXPECT_TRUE(at::equal(there.cpu(), to_torch(host)));
}

TEST_F(GpuDropoutTest, GradientsHaveTheMask) {
  const at::Tensor x = at::ones({4, 50}, at::device(at::kCUDA)).requires_grad_();
  const at::Tensor y = in_replica({0, 4}, 0, [&] { return row_dropout(x, 0.25); });
  y.sum().backward();
  EXPECT_TRUE(at::equal(x.grad(), y));
  EXPECT_GT((y == 0).sum().item<std::int64_t>(), 0);
}

}  // namespace
}  // namespace tandem::libtorch::test
