// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Collectives on the tape: gradients against differences of the sum of all ranks' losses.

#include "tandem/comm/differentiable.hpp"

#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tandem/autograd/autograd.hpp"

#include "comm/rank_values.hpp"
#include "comm/run_ranks.hpp"
#include "thrown_text.hpp"

namespace tandem {
namespace {

using comm::Communicator;
using comm::ReduceOp;
using testing::Group;
using ::testing::HasSubstr;
using testing::make_group;
using testing::outcomes;
using testing::run_ranks;
using testing::thrown_text;
using Values = std::vector<double>;
using Rows = std::vector<std::int64_t>;

constexpr std::int64_t kWidth = 3;

/// `rows` rows of small whole numbers that differ by rank and `seed`.
Values values_of(int rank, std::int64_t rows, int seed) {
  Values values = testing::rank_values(rank + 5 * seed, rows * kWidth, DType::f64);
  for (std::size_t i = 0; i < values.size(); i += 2)
    values[i] = -values[i];
  return values;
}

Tensor tensor_of(const Values& values, Device device) {
  const auto rows = static_cast<std::int64_t>(values.size()) / kWidth;
  return from_host(std::span<const double>(values), {rows, kWidth}, device);
}

double dot(const Values& a, const Values& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    sum += a[i] * b[i];
  return sum;
}

struct Op {
  const char* name;
  std::function<Tensor(Communicator&, const Tensor&)> run;
  std::function<std::int64_t(int rank, int ranks)> rows;  // of a rank's input
};
void PrintTo(const Op& op, std::ostream* s) {
  *s << op.name;
}

class DifferentiableTest : public ::testing::TestWithParam<Op> {
 protected:
  static Values input(const Communicator& comm) {
    return values_of(comm.rank(), GetParam().rows(comm.rank(), comm.size()), 0);
  }
  static Tensor run(Communicator& comm, const Tensor& x) { return GetParam().run(comm, x); }
  static Values weights(const Communicator& comm, const Tensor& y) {
    return values_of(comm.rank(), y.shape()[0], 1);
  }
};

// The ops are linear, so that a difference of any width is exact.
TEST_P(DifferentiableTest, GradientIsTheDifferenceOfAllRanksLosses) {
  for (const int ranks : testing::on_gpus() ? std::vector{1, 3} : std::vector{1, 2, 3, 4}) {
    run_ranks(ranks, [&](Communicator& comm) {
      const auto loss_of_all = [&](const Values& x) {
        const autograd::NoGrad off;
        const Tensor y = run(comm, tensor_of(x, comm.device()));
        const double own = dot(y.to_doubles(), weights(comm, y));
        const Tensor sum = testing::make_tensor({own}, DType::f64, comm.device());
        comm.all_reduce(sum);
        return sum.to_doubles()[0];
      };
      Tensor x = tensor_of(input(comm), comm.device());
      x.requires_grad_();
      const Tensor y = run(comm, x);
      autograd::backward({y}, {tensor_of(weights(comm, y), comm.device())});
      const Values gradient = x.grad().to_doubles();
      for (int r = 0; r < ranks; ++r) {
        const std::int64_t n = GetParam().rows(r, ranks) * kWidth;
        for (std::int64_t i = 0; i < n; ++i) {
          Values more = input(comm), less = input(comm);
          const auto at = static_cast<std::size_t>(i);
          if (comm.rank() == r) more[at] += 1;
          if (comm.rank() == r) less[at] -= 1;
          const double difference = (loss_of_all(more) - loss_of_all(less)) / 2;
          if (comm.rank() != r) continue;
          EXPECT_NEAR(gradient[at], difference, 1e-10) << "rank " << r << " element " << i;
        }
      }
    });
  }
}

// Backward is linear in dy, and its own backward is forward again.
TEST_P(DifferentiableTest, BackwardOfBackwardIsForward) {
  run_ranks(4, [&](Communicator& comm) {  // so that an average is exact
    Tensor x = tensor_of(input(comm), comm.device());
    x.requires_grad_();
    const Tensor y = run(comm, x);
    Tensor dy = tensor_of(weights(comm, y), comm.device());
    dy.requires_grad_();
    const Tensor dx = autograd::grad({y}, {x}, {dy}, {.create_graph = true})[0];
    const Tensor v = tensor_of(values_of(comm.rank(), x.shape()[0], 2), comm.device());
    const Tensor again = autograd::grad({dx}, {dy}, {v})[0];
    const autograd::NoGrad off;
    EXPECT_EQ(again.to_doubles(), run(comm, v).to_doubles()) << comm.rank();
  });
}

TEST_P(DifferentiableTest, StridedInputsGiveWhatDenseOnesGive) {
  run_ranks(2, [&](Communicator& comm) {
    const Tensor x = tensor_of(input(comm), comm.device());
    const Tensor wide = tensor_of(values_of(0, 2 * x.shape()[0], 3), comm.device());
    const Tensor strided = as_strided(wide, x.shape(), {2 * kWidth, 1}, wide.impl().offset);
    Values dense;
    for (std::int64_t i = 0; i < x.numel(); ++i) {
      const std::int64_t at = i / kWidth * 2 * kWidth + i % kWidth;
      dense.push_back(wide.to_doubles()[static_cast<std::size_t>(at)]);
    }
    EXPECT_EQ(run(comm, strided).to_doubles(),
              run(comm, tensor_of(dense, comm.device())).to_doubles());
    EXPECT_EQ(wide.to_doubles(), values_of(0, 2 * x.shape()[0], 3)) << "inputs stay as they are";
  });
}

std::int64_t two(int, int) {
  return 2;
}
std::int64_t two_for_each(int, int ranks) {
  return 2 * ranks;
}
std::int64_t by_rank(int rank, int) {
  return rank;
}
Rows rows_by_rank(const Communicator& comm) {
  Rows rows;
  for (int r = 0; r < comm.size(); ++r)
    rows.push_back(r);
  return rows;
}
std::int64_t sum_by_rank(int, int ranks) {
  return ranks * (ranks - 1) / 2;
}

using T = const Tensor&;
INSTANTIATE_TEST_SUITE_P(
    Ops,
    DifferentiableTest,
    ::testing::Values(
        Op{"all_reduce", [](Communicator& c, T x) { return comm::all_reduce(c, x); }, two},
        Op{"all_reduce_avg",
           [](Communicator& c, T x) { return comm::all_reduce(c, x, ReduceOp::avg); },
           two},
        Op{"all_reduce_premul_sum",
           [](Communicator& c, T x) {
             return comm::all_reduce(c, x, comm::premul_sum(c.rank() - 0.5));
           },
           two},
        Op{"broadcast", [](Communicator& c, T x) { return comm::broadcast(c, x, 0); }, two},
        Op{"reduce",
           [](Communicator& c, T x) {
             return comm::reduce(c, x, comm::premul_sum(c.rank() + 2), c.size() - 1);
           },
           two},
        Op{"gather",
           [](Communicator& c, T x) { return comm::gather(c, x, 0, rows_by_rank(c)); },
           by_rank},
        Op{"scatter",
           [](Communicator& c, T x) { return comm::scatter(c, x, 0, rows_by_rank(c)); },
           [](int rank, int ranks) { return rank == 0 ? sum_by_rank(rank, ranks) : 0; }},
        Op{"all_gather", [](Communicator& c, T x) { return comm::all_gather(c, x); }, two},
        Op{"all_gather_rows",
           [](Communicator& c, T x) { return comm::all_gather(c, x, rows_by_rank(c)); },
           by_rank},
        Op{"reduce_scatter",
           [](Communicator& c, T x) { return comm::reduce_scatter(c, x, ReduceOp::avg); },
           two_for_each},
        Op{"reduce_scatter_rows",
           [](Communicator& c, T x) {
             return comm::reduce_scatter(c, x, ReduceOp::sum, rows_by_rank(c));
           },
           sum_by_rank},
        Op{"all_to_all", [](Communicator& c, T x) { return comm::all_to_all(c, x); }, two_for_each},
        Op{"all_to_all_rows",
           [](Communicator& c, T x) {
             return comm::all_to_all(c, x, rows_by_rank(c), Rows(rows_by_rank(c).size(), c.rank()));
           },
           sum_by_rank}),
    [](const auto& op) { return std::string(op.param.name); });

TEST(Differentiable, RefusalsNameTheRemedyAndFreeThePeers) {
  if (testing::test_world() != nullptr) GTEST_SKIP() << testing::kOneProcess;
  const auto text = [](std::function<void(Communicator&, T)> call) {
    Group group = make_group(2);
    const auto errors = outcomes(group, [&](Communicator& comm) {
      if (comm.rank() == 0) return comm.barrier();
      call(comm, tensor_of(values_of(0, 3, 0), comm.device()));
    });
    EXPECT_THROW(std::rethrow_exception(errors[0]), CommAborted);
    return thrown_text([&] { std::rethrow_exception(errors[1]); });
  };
  EXPECT_THAT(text([](Communicator& c, T x) { comm::all_reduce(c, x, ReduceOp::max); }),
              HasSubstr("max is not differentiable here; use sum, avg or premul_sum"));
  EXPECT_THAT(text([](Communicator& c, T x) { comm::reduce_scatter(c, x); }),
              HasSubstr("3 rows do not divide into 2 even parts"));
  EXPECT_THAT(text([](Communicator& c, T x) {
                comm::all_gather(c, x, {3, 4});
              }),
              HasSubstr("the tensor has 3 rows, but the counts say 4"));
  EXPECT_THAT(text([](Communicator& c, T x) { comm::all_to_all(c, x, {3}); }),
              HasSubstr("1 counts of rows for 2 ranks"));
  EXPECT_THAT(text([](Communicator& c, T x) {
                comm::all_to_all(c, x, {1, 2});
              }),
              HasSubstr("give output_rows"));
  EXPECT_THAT(text([](Communicator& c, T x) {
                comm::scatter(c, x, 0, {2, 1});
              }),
              HasSubstr("the tensor has 3 rows, but the counts say 0"));
  EXPECT_THAT(text([](Communicator& c, T x) {
                comm::all_gather(c, x, {-1, 3});
              }),
              HasSubstr("a rank's count of rows is -1"));
  EXPECT_THAT(text([](Communicator& c, T x) {
                comm::all_gather(c, x, {INT64_MAX, 3});
              }),
              HasSubstr("their sum must fit in 64 bits"));
}

}  // namespace
}  // namespace tandem
