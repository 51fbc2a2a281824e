// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Products, bits and sums with factors against a serial loop; what each type is refused.

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tandem/comm/communicator.hpp"

#include "comm/rank_values.hpp"
#include "comm/run_ranks.hpp"
#include "thrown_text.hpp"

namespace tandem {
namespace {

using comm::Communicator;
using comm::ReduceOp;
using comm::Reduction;
using ::testing::HasSubstr;
using testing::make_tensor;
using testing::run_ranks;
using Values = std::vector<double>;

bool is_bitwise(ReduceOp op) {
  return op == ReduceOp::band || op == ReduceOp::bor || op == ReduceOp::bxor;
}

/// Products of powers of two are exact in every float type; integers may be any, for they wrap.
Values values_of(ReduceOp op, int rank, std::int64_t n, DType dtype) {
  Values values = testing::rank_values(rank, n, dtype);
  if (op != ReduceOp::product || !is_float(dtype)) return values;
  for (double& v : values)
    v = std::vector<double>{1, 2, -1, 0.5}[static_cast<std::size_t>(v) % 4];
  return values;
}

double factor_of(int rank) {
  return 0.5 * rank - 1;
}

double wrapped(ReduceOp op, double a, double b) {
  const auto x = static_cast<std::int64_t>(a), y = static_cast<std::int64_t>(b);
  switch (op) {
    case ReduceOp::product:
      return a * b;
    case ReduceOp::band:
      return static_cast<double>(x & y);
    case ReduceOp::bor:
      return static_cast<double>(x | y);
    case ReduceOp::bxor:
      return static_cast<double>(x ^ y);
    default:
      return a + b;
  }
}

Values rounded_reduction(ReduceOp op, int ranks, std::int64_t n, DType dtype) {
  Values result;
  for (int r = 0; r < ranks; ++r) {
    Values x = values_of(op, r, n, dtype);
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (op == ReduceOp::premul_sum) x[i] *= factor_of(r);
      if (r > 0) x[i] = wrapped(op, result[i], x[i]);
    }
    result = x;
  }
  for (double& v : result) {
    if (dtype == DType::bf16) v = BFloat16(static_cast<float>(v));  // rounded once
    if (dtype == DType::f16) v = Half(static_cast<float>(v));
    if (dtype == DType::u8) v = static_cast<std::uint8_t>(static_cast<std::int64_t>(v));
    if (dtype == DType::i32) v = static_cast<std::int32_t>(static_cast<std::int64_t>(v));
  }
  return result;
}

std::vector<ReduceOp> further_reductions(DType dtype) {
  if (is_float(dtype)) return {ReduceOp::product, ReduceOp::premul_sum};
  return {ReduceOp::product, ReduceOp::band, ReduceOp::bor, ReduceOp::bxor};
}

class ReductionsTest : public ::testing::TestWithParam<std::tuple<int, std::int64_t>> {
 protected:
  const int ranks = std::get<0>(GetParam());
  const std::int64_t n = std::get<1>(GetParam());

  /// Runs f(comm, x, reduction, the reduction's values), where x holds the rank's.
  template <class F>
  void check(F f) const {
    struct Case {
      DType dtype;
      ReduceOp op;
      Values expected;
    };
    std::vector<Case> cases;
    // The sum of a process's ranks is rounded before the processes' sums are added up.
    const bool rounds_twice =
        testing::ranks_by_process(ranks).size() > 1 && testing::ranks_by_process(ranks)[0] > 1;
    for (const DType dtype : testing::kAllDTypes) {
      if (rounds_twice && is_float(dtype) && itemsize(dtype) == 2) continue;
      for (const ReduceOp op : further_reductions(dtype))
        cases.push_back({dtype, op, rounded_reduction(op, ranks, n, dtype)});
    }
    run_ranks(ranks, [&](Communicator& comm) {
      for (const auto& [dtype, op, expected] : cases) {
        SCOPED_TRACE(name(op) + (' ' + std::string(name(dtype))) + " rank " +
                     std::to_string(comm.rank()));
        const Reduction reduction =
            op == ReduceOp::premul_sum ? comm::premul_sum(factor_of(comm.rank())) : op;
        const Tensor x = make_tensor(values_of(op, comm.rank(), n, dtype), dtype, comm.device());
        f(comm, x, reduction, expected);
      }
    });
  }
};

TEST_P(ReductionsTest, AllReduce) {
  check([](Communicator& comm, const Tensor& x, Reduction reduction, const Values& expected) {
    comm.all_reduce(x, reduction);
    EXPECT_TRUE(x.to_doubles() == expected);
  });
}

TEST_P(ReductionsTest, Reduce) {
  check([](Communicator& comm, const Tensor& x, Reduction reduction, const Values& expected) {
    const Values own = x.to_doubles();
    comm.reduce(x, reduction, 0);
    EXPECT_TRUE(x.to_doubles() == (comm.rank() == 0 ? expected : own));
  });
}

TEST_P(ReductionsTest, ReduceScatter) {
  check([](Communicator& comm, const Tensor& x, Reduction reduction, const Values& expected) {
    const bool last = comm.rank() == comm.size() - 1;  // the last rank has all
    const std::int64_t count = last ? x.numel() : 0;
    const Tensor part =
        make_tensor(Values(static_cast<std::size_t>(count)), x.dtype(), comm.device());
    comm.reduce_scatter(x, part, reduction);
    EXPECT_TRUE(part.to_doubles() == (last ? expected : Values{}));
  });
}

INSTANTIATE_TEST_SUITE_P(Local,
                         ReductionsTest,
                         ::testing::Combine(::testing::ValuesIn(testing::group_sizes()),
                                            ::testing::Values(0, 1, 13, 20'001)),
                         [](const auto& sizes) {
                           return std::to_string(std::get<0>(sizes.param)) + "ranks_" +
                                  std::to_string(std::get<1>(sizes.param));
                         });

TEST(Reductions, WhatATypeHasNotIsRefused) {
  for (const DType dtype : testing::kAllDTypes) {
    for (const ReduceOp op : {ReduceOp::sum,
                              ReduceOp::avg,
                              ReduceOp::min,
                              ReduceOp::max,
                              ReduceOp::product,
                              ReduceOp::band,
                              ReduceOp::bor,
                              ReduceOp::bxor,
                              ReduceOp::premul_sum}) {
      bool has = true;
      if (op == ReduceOp::avg || op == ReduceOp::premul_sum) has = is_float(dtype);
      if (op == ReduceOp::sum) has = dtype != DType::boolean;
      if (is_bitwise(op)) has = !is_float(dtype);
      testing::Group group = testing::make_group(1);
      const Tensor x = make_tensor({1}, dtype, group[0]->device());
      SCOPED_TRACE(name(op) + (' ' + std::string(name(dtype))));
      if (has) {
        EXPECT_NO_THROW(group[0]->all_reduce(x, op));
      } else {
        EXPECT_THAT(testing::thrown_text([&] { group[0]->all_reduce(x, op); }),
                    HasSubstr(std::string(name(op)) + " of " + name(dtype)));
      }
    }
  }
}

TEST(Reductions, AFactorScalesAlsoAGroupOfOne) {
  run_ranks(1, [](Communicator& comm) {
    const Tensor x = make_tensor({1, -2, 4}, DType::f32, comm.device());
    comm.all_reduce(x, comm::premul_sum(0.25));
    EXPECT_EQ(x.to_doubles(), (Values{0.25, -0.5, 1}));
  });
}

}  // namespace
}  // namespace tandem
