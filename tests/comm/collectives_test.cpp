// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Every collective against a serial loop, for each number of ranks, size and dtype.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tandem/comm/communicator.hpp"

#include "comm/rank_values.hpp"
#include "comm/run_ranks.hpp"

namespace tandem {
namespace {

using comm::Communicator;
using comm::ReduceOp;
using testing::make_tensor;
using testing::rank_values;
using testing::run_ranks;
using Values = std::vector<double>;

/// The first difference, readable also for large tensors; "" if equal.
std::string difference(const Values& actual, const Values& expected) {
  if (actual.size() != expected.size()) {
    return "sizes " + std::to_string(actual.size()) + " and " + std::to_string(expected.size());
  }
  const auto [a, e] = std::mismatch(actual.begin(), actual.end(), expected.begin());
  if (a == actual.end()) return "";
  return "at " + std::to_string(a - actual.begin()) + ": " + std::to_string(*a) + ", expected " +
         std::to_string(*e);
}

Values serial_reduction(ReduceOp op, int ranks, std::int64_t n, DType dtype) {
  Values result = rank_values(0, n, dtype);
  for (int r = 1; r < ranks; ++r) {
    const Values x = rank_values(r, n, dtype);
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (op == ReduceOp::min)
        result[i] = std::min(result[i], x[i]);
      else if (op == ReduceOp::max)
        result[i] = std::max(result[i], x[i]);
      else
        result[i] += x[i];
    }
  }
  for (double& v : result) {
    if (op == ReduceOp::avg && dtype == DType::f64)
      v /= ranks;
    else if (op == ReduceOp::avg)
      v = static_cast<float>(v) / static_cast<float>(ranks);
    if (dtype == DType::bf16) v = BFloat16(static_cast<float>(v));  // summed in f32, rounded once
    if (dtype == DType::f16) v = Half(static_cast<float>(v));
  }
  return result;
}

std::vector<ReduceOp> reductions(DType dtype) {
  if (dtype == DType::boolean) return {ReduceOp::min, ReduceOp::max};
  if (is_float(dtype)) return {ReduceOp::sum, ReduceOp::avg, ReduceOp::min, ReduceOp::max};
  return {ReduceOp::sum, ReduceOp::min, ReduceOp::max};
}

/// Elements of rank r in a tensor that is cut: uneven, about n in all, and none for rank 1.
std::int64_t part_count(int r, int ranks, std::int64_t n) {
  return r == 1 ? 0 : n / ranks + r;
}

Values slice(const Values& whole, std::int64_t begin, std::int64_t count) {
  return {whole.begin() + begin, whole.begin() + begin + count};
}

class CollectivesTest : public ::testing::TestWithParam<std::tuple<int, std::int64_t>> {
 protected:
  const int ranks = std::get<0>(GetParam());
  const std::int64_t n = std::get<1>(GetParam());
  DType dtype = DType::f32;
  const int root = ranks - 1;

  template <class F>
  void for_each_dtype(F f) {
    for (const DType t : testing::kAllDTypes) {
      dtype = t;
      f();
    }
  }
  Tensor own(const Communicator& comm, std::int64_t count) const {
    return make_tensor(rank_values(comm.rank(), count, dtype), dtype, comm.device());
  }
  Tensor blank(const Communicator& comm, std::int64_t count) const {
    return make_tensor(Values(static_cast<std::size_t>(count)), dtype, comm.device());
  }
  std::int64_t offset(int rank) const {
    std::int64_t sum = 0;
    for (int r = 0; r < rank; ++r)
      sum += part_count(r, ranks, n);
    return sum;
  }
  std::int64_t whole_count() const { return offset(ranks); }
  /// All parts one after the other.
  Values joined() const {
    Values all;
    for (int r = 0; r < ranks; ++r) {
      const Values part = rank_values(r, part_count(r, ranks, n), dtype);
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }
};

TEST_P(CollectivesTest, Broadcast) {
  for_each_dtype([&] {
    run_ranks(ranks, [&](Communicator& comm) {
      const Tensor x = own(comm, n);
      comm.broadcast(x, root);
      EXPECT_EQ(difference(x.to_doubles(), rank_values(root, n, dtype)), "")
          << dtype << " rank " << comm.rank();
    });
  });
}

TEST_P(CollectivesTest, ReduceLeavesTheOthersAsTheyWere) {
  for_each_dtype([&] {
    for (const ReduceOp op : reductions(dtype)) {
      run_ranks(ranks, [&](Communicator& comm) {
        const Tensor x = own(comm, n);
        comm.reduce(x, op, root);
        const Values expected = comm.rank() == root ? serial_reduction(op, ranks, n, dtype)
                                                    : rank_values(comm.rank(), n, dtype);
        EXPECT_EQ(difference(x.to_doubles(), expected), "")
            << name(op) << ' ' << dtype << " rank " << dtype << " rank " << comm.rank();
      });
    }
  });
}

TEST_P(CollectivesTest, AllReduce) {
  for_each_dtype([&] {
    for (const ReduceOp op : reductions(dtype)) {
      const Values expected = serial_reduction(op, ranks, n, dtype);
      run_ranks(ranks, [&](Communicator& comm) {
        const Tensor x = own(comm, n);
        comm.all_reduce(x, op);
        EXPECT_EQ(difference(x.to_doubles(), expected), "")
            << name(op) << ' ' << dtype << " rank " << dtype << " rank " << comm.rank();
      });
    }
  });
}

TEST_P(CollectivesTest, GatherJoinsUnevenParts) {
  for_each_dtype([&] {
    run_ranks(ranks, [&](Communicator& comm) {
      const Tensor part = own(comm, part_count(comm.rank(), ranks, n));
      const Tensor whole = comm.rank() == root ? blank(comm, whole_count()) : Tensor();
      comm.gather(part, whole, root);
      if (comm.rank() != root) return;
      EXPECT_EQ(difference(whole.to_doubles(), joined()), "") << dtype;
    });
  });
}

TEST_P(CollectivesTest, ScatterCutsUnevenParts) {
  for_each_dtype([&] {
    const Values all = rank_values(0, whole_count(), dtype);
    run_ranks(ranks, [&](Communicator& comm) {
      const std::int64_t count = part_count(comm.rank(), ranks, n);
      const Tensor part = blank(comm, count);
      const Tensor whole = comm.rank() == root ? make_tensor(all, dtype, comm.device()) : Tensor();
      comm.scatter(whole, part, root);
      EXPECT_EQ(difference(part.to_doubles(), slice(all, offset(comm.rank()), count)), "")
          << dtype << " rank " << comm.rank();
    });
  });
}

TEST_P(CollectivesTest, AllGather) {
  for_each_dtype([&] {
    run_ranks(ranks, [&](Communicator& comm) {
      const Tensor whole = blank(comm, whole_count());
      comm.all_gather(own(comm, part_count(comm.rank(), ranks, n)), whole);
      EXPECT_EQ(difference(whole.to_doubles(), joined()), "") << dtype << " rank " << comm.rank();
    });
  });
}

TEST_P(CollectivesTest, ReduceScatter) {
  for_each_dtype([&] {
    for (const ReduceOp op : reductions(dtype)) {
      const Values all = serial_reduction(op, ranks, whole_count(), dtype);
      run_ranks(ranks, [&](Communicator& comm) {
        const std::int64_t count = part_count(comm.rank(), ranks, n);
        const Tensor part = blank(comm, count);
        comm.reduce_scatter(own(comm, whole_count()), part, op);
        EXPECT_EQ(difference(part.to_doubles(), slice(all, offset(comm.rank()), count)), "")
            << name(op) << ' ' << dtype << " rank " << dtype << " rank " << comm.rank();
      });
    }
  });
}

TEST_P(CollectivesTest, InPlacePartsOfTheWhole) {
  for_each_dtype([&] {
    const Values sums = serial_reduction(ReduceOp::max, ranks, whole_count(), dtype);
    run_ranks(ranks, [&](Communicator& comm) {
      const Tensor whole = own(comm, whole_count());
      const std::int64_t begin = whole.impl().offset + offset(comm.rank());
      const Tensor part = as_strided(whole, {part_count(comm.rank(), ranks, n)}, {1}, begin);
      comm.reduce_scatter(whole, part, ReduceOp::max);
      comm.all_gather(part, whole);
      EXPECT_EQ(difference(whole.to_doubles(), sums), "") << dtype << " rank " << comm.rank();
    });
  });
}

std::string param_name(const ::testing::TestParamInfo<CollectivesTest::ParamType>& info) {
  return std::to_string(std::get<0>(info.param)) + "ranks_" +
         std::to_string(std::get<1>(info.param));
}

// 1, even, odd, and more than there are cores; none, one, odd, and several slices.
INSTANTIATE_TEST_SUITE_P(Local,
                         CollectivesTest,
                         ::testing::Combine(::testing::ValuesIn(testing::group_sizes()),
                                            ::testing::Values(0, 1, 13, 100'003)),
                         param_name);

TEST(Barrier, NobodyLeavesBeforeTheLastHasCome) {
  if (testing::test_world() != nullptr) GTEST_SKIP() << testing::kOneProcess;
  std::atomic<int> come{0};
  run_ranks(4, [&](Communicator& comm) {
    for (int round = 1; round <= 50; ++round) {
      come.fetch_add(1);
      comm.barrier();
      EXPECT_GE(come.load(), 4 * round) << comm.rank();
    }
  });
}

TEST(AllReduce, NaNWinsInMinAndMax) {
  run_ranks(3, [](Communicator& comm) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (const ReduceOp op : {ReduceOp::min, ReduceOp::max}) {
      for (int where = 0; where < 3; ++where) {
        const double value = comm.rank() == where ? nan : comm.rank();
        const Tensor x = make_tensor(Values(3, value), DType::f32, comm.device());
        comm.all_reduce(x, op);
        EXPECT_TRUE(std::isnan(x.to_doubles()[1])) << name(op) << " with NaN on rank " << where;
      }
    }
  });
}

TEST(AllReduce, TakesViewsAndBumpsVersions) {
  run_ranks(2, [](Communicator& comm) {
    const Tensor whole = make_tensor(Values(24, comm.rank() + 1), DType::f32, comm.device());
    const auto before = whole.buffer().version();
    comm.all_reduce(as_strided(whole, {2, 4}, {4, 1}, whole.impl().offset + 8));
    Values expected(24, comm.rank() + 1);
    std::fill(expected.begin() + 8, expected.begin() + 16, 3);
    EXPECT_EQ(whole.to_doubles(), expected);
    EXPECT_EQ(whole.buffer().version(), before + 1);
  });
}

}  // namespace
}  // namespace tandem
