// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// The algorithms carried out by ranks on their devices, against a serial loop; the bytes that they
// move, and what happens when ranks differ or leave.

#include <algorithm>
#include <map>
#include <mutex>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tandem/comm/algorithms.hpp"
#include "tandem/comm/group.hpp"
#include "tandem/runtime/observer.hpp"

#include "comm/rank_values.hpp"
#include "comm/run_ranks.hpp"
#include "devices.hpp"
#include "thrown_text.hpp"

namespace tandem {
namespace {

using comm::Algorithm;
using comm::Collective;
using comm::Communicator;
using comm::ReduceOp;
using comm::Reduction;
using ::testing::AllOf;
using testing::Group;
using ::testing::HasSubstr;
using testing::make_group;
using testing::make_tensor;
using testing::on_gpus;
using testing::outcomes;
using testing::run_ranks;
using testing::thrown_text;
using Kind = Collective::Kind;
using Values = std::vector<double>;

constexpr std::int64_t kSegmentBytes = 16 * 1024;

/// Whole numbers so small that sums over eight ranks are exact in 16 bits too.
Values small_values(int rank, std::int64_t n, DType dtype) {
  Values x(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) {
    const auto v = static_cast<double>((i + 3 * rank) % 5);
    x[static_cast<std::size_t>(i)] = dtype == DType::boolean ? static_cast<double>(v > 1) : v;
  }
  return x;
}

double combined_by(ReduceOp op, double a, double b) {
  if (op == ReduceOp::min) return std::min(a, b);
  if (op == ReduceOp::max) return std::max(a, b);
  if (op == ReduceOp::bxor)
    return static_cast<double>(static_cast<std::int64_t>(a) ^ static_cast<std::int64_t>(b));
  return a + b;
}

Values serial_result(ReduceOp op, int ranks, std::int64_t n, DType dtype) {
  Values result;
  for (int r = 0; r < ranks; ++r) {
    Values x = small_values(r, n, dtype);
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (op == ReduceOp::premul_sum) x[i] *= r + 1;
      if (r > 0) x[i] = combined_by(op, result[i], x[i]);
    }
    result = std::move(x);
  }
  if (op != ReduceOp::avg) return result;
  for (double& v : result) {
    v = dtype == DType::f64
            ? v / ranks
            : static_cast<double>(static_cast<float>(v) / static_cast<float>(ranks));
    if (dtype == DType::bf16) v = BFloat16(static_cast<float>(v));
    if (dtype == DType::f16) v = Half(static_cast<float>(v));
  }
  return result;
}

/// As the calls take it: rank r's factor is r + 1.
Reduction reduction(ReduceOp op, int rank) {
  return op == ReduceOp::premul_sum ? comm::premul_sum(rank + 1) : Reduction(op);
}

std::vector<ReduceOp> reductions_of(DType dtype) {
  if (dtype == DType::boolean) return {ReduceOp::min, ReduceOp::max};
  if (is_float(dtype))
    return {ReduceOp::sum, ReduceOp::avg, ReduceOp::min, ReduceOp::max, ReduceOp::premul_sum};
  return {ReduceOp::sum, ReduceOp::min, ReduceOp::max, ReduceOp::bxor};
}

/// A GPU's stand-in takes a thousand times as long for a step as the host does; which kernels there
/// are for a type has nothing to do with the algorithm.
std::vector<DType> dtypes() {
  if (on_gpus()) return {DType::f32, DType::i64};
  return {std::begin(testing::kAllDTypes), std::end(testing::kAllDTypes)};
}

std::vector<std::string> names() {
  std::vector<std::string> list;
  for (const Algorithm* a : comm::algorithms())
    list.push_back(a->name());
  return list;
}

Group make_group_of(const std::string& name, int ranks, std::int64_t segment = kSegmentBytes) {
  return make_group(
      ranks, {.timeout = std::chrono::seconds(30), .algorithm = name, .segment_bytes = segment});
}

/// What does not refuse its ranks.
std::vector<std::tuple<std::string, int>> names_and_ranks() {
  std::vector<std::tuple<std::string, int>> list;
  for (const std::string& name : names()) {
    for (const int ranks : on_gpus() ? std::vector{2, 3, 4} : std::vector{1, 2, 3, 4, 7, 8})
      if (comm::algorithm(name).refusal({Kind::all_reduce, ranks}).empty())
        list.emplace_back(name, ranks);
  }
  return list;
}

class ScheduledTest : public ::testing::TestWithParam<std::tuple<std::string, int>> {
 protected:
  const std::string name = std::get<0>(GetParam());
  const int ranks = std::get<1>(GetParam());

  /// Runs f(comm, count) on each rank. 1'501: more than a segment of 1 KiB.
  template <class F>
  void run(F f, std::vector<std::int64_t> counts = {0, 1, 13, 1'501}) {
    if (on_gpus()) counts = {1, 1'501};
    Group group = make_group_of(name, ranks, 1024);
    run_ranks(group, [f, counts](Communicator& comm) {
      for (const std::int64_t n : counts)
        f(comm, n);
    });
  }
};

TEST_P(ScheduledTest, AllReduce) {
  run([this](Communicator& comm, std::int64_t n) {
    for (const DType dtype : dtypes()) {
      for (const ReduceOp op : reductions_of(dtype)) {
        const Tensor x = make_tensor(small_values(comm.rank(), n, dtype), dtype, comm.device());
        comm.all_reduce(x, reduction(op, comm.rank()));
        EXPECT_TRUE(x.to_doubles() == serial_result(op, ranks, n, dtype))
            << comm::name(op) << ' ' << dtype << " rank " << comm.rank();
      }
    }
  });
}

TEST_P(ScheduledTest, ReduceLeavesTheOthersAsTheyWere) {
  run([this](Communicator& comm, std::int64_t n) {
    for (const DType dtype : dtypes()) {
      for (const ReduceOp op : reductions_of(dtype)) {
        const int root = ranks / 2;
        const Values own = small_values(comm.rank(), n, dtype);
        const Tensor x = make_tensor(own, dtype, comm.device());
        comm.reduce(x, reduction(op, comm.rank()), root);
        EXPECT_TRUE(x.to_doubles() ==
                    (comm.rank() == root ? serial_result(op, ranks, n, dtype) : own))
            << comm::name(op) << ' ' << dtype << " rank " << comm.rank();
      }
    }
  });
}

TEST_P(ScheduledTest, Broadcast) {
  run([this](Communicator& comm, std::int64_t n) {
    for (const DType dtype : dtypes()) {
      for (const int root : {0, ranks - 1}) {
        const Tensor x = make_tensor(small_values(comm.rank(), n, dtype), dtype, comm.device());
        comm.broadcast(x, root);
        EXPECT_TRUE(x.to_doubles() == small_values(root, n, dtype))
            << dtype << " root " << root << " rank " << comm.rank();
      }
    }
  });
}

TEST_P(ScheduledTest, FillsAnOutputThatIsNotTheInput) {
  const auto fills = [this](Communicator& comm, std::int64_t n) {
    for (const Kind kind : {Kind::all_reduce, Kind::reduce}) {
      const Values own = small_values(comm.rank(), n, DType::f32);
      const Tensor x = make_tensor(own, DType::f32, comm.device());
      const Tensor y = make_tensor(Values(own.size(), -1), DType::f32, comm.device());
      comm.start({.kind = kind, .input = x, .output = y, .root = kind == Kind::reduce ? 0 : -1})
          .wait();
      EXPECT_TRUE(x.to_doubles() == own);
      const bool gets = kind == Kind::all_reduce || comm.rank() == 0;
      EXPECT_TRUE(y.to_doubles() == (gets ? serial_result(ReduceOp::sum, ranks, n, DType::f32)
                                          : Values(own.size(), -1)))
          << comm::name(kind) << " rank " << comm.rank();
    }
  };
  run(fills, {0, 1, 13, 1'501, 20'011});  // the last is more than a slice of the work
}

INSTANTIATE_TEST_SUITE_P(
    All, ScheduledTest, ::testing::ValuesIn(names_and_ranks()), [](const auto& test) {
      return std::get<0>(test.param) + "_" + std::to_string(std::get<1>(test.param)) + "_ranks";
    });

class AlgorithmTest : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(All, AlgorithmTest, ::testing::ValuesIn(names()), [](const auto& test) {
  return test.param;
});

/// Numbers whose sums round, so that another order gives other bits.
Values rounded_values(int rank, std::int64_t n) {
  Values x;
  for (std::int64_t i = 0; i < n; ++i)
    x.push_back(static_cast<float>((i * 7919 + rank * 104'729) % 10'007) / 3.0f - 1000.0f);
  return x;
}

TEST_P(AlgorithmTest, BitsAreEqualOnAllRanksAndEachTime) {
  constexpr int kRanks = 4;
  std::vector<Values> results(kRanks);
  for (int round = 0; round < 3; ++round) {
    Group group = make_group_of(GetParam(), kRanks);
    run_ranks(group, [&](Communicator& comm) {
      const Tensor x = make_tensor(rounded_values(comm.rank(), 50'000), DType::f32, comm.device());
      comm.all_reduce(x);
      Values& own = results[static_cast<std::size_t>(comm.rank())];
      if (round == 0) own = x.to_doubles();
      EXPECT_TRUE(own == x.to_doubles()) << "round " << round << " rank " << comm.rank();
      comm.broadcast(x, 0);
      EXPECT_TRUE(own == x.to_doubles()) << "rank " << comm.rank() << " and rank 0";
    });
  }
}

TEST_P(AlgorithmTest, ManyUnderWayGiveTheirOwnResults) {
  constexpr int kRanks = 4;
  Group group = make_group_of(GetParam(), kRanks);
  run_ranks(group, [](Communicator& comm) {
    std::vector<Tensor> buckets;
    std::vector<comm::Handle> handles;
    for (std::int64_t b = 0; b < 30; ++b) {
      buckets.push_back(make_tensor(
          small_values(comm.rank(), 1 + b * 777, DType::f32), DType::f32, comm.device()));
      handles.push_back(comm.start_all_reduce(buckets.back()));
    }
    if (comm.rank() % 2 == 1) std::reverse(handles.begin(), handles.end());
    for (comm::Handle& handle : handles)
      handle.wait();
    for (std::int64_t b = 0; b < 30; ++b) {
      EXPECT_TRUE(buckets[static_cast<std::size_t>(b)].to_doubles() ==
                  serial_result(ReduceOp::sum, kRanks, 1 + b * 777, DType::f32))
          << "bucket " << b << " rank " << comm.rank();
    }
  });
}

/// Bytes by (source, destination).
class BytesByLink final : public Observer {
 public:
  void on_copy(const CopyEvent& e) noexcept override {
    const std::scoped_lock lock(mutex_);
    nbytes_[{e.source.index, e.destination.index}] += e.nbytes;
  }
  using Table = std::map<std::pair<int, int>, std::size_t>;
  Table take() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(nbytes_, {});
  }

 private:
  std::mutex mutex_;  // guards nbytes_
  Table nbytes_;
};

TEST_P(AlgorithmTest, BytesByLinkAreThoseOfTheSchedule) {
  constexpr int kRanks = 4;
  constexpr std::int64_t kCount = 1003;
  const Algorithm& algorithm = comm::algorithm(GetParam());
  BytesByLink traffic;
  const Subscription subscription(traffic);
  Group group = make_group_of(GetParam(), kRanks);
  const int first = group.front()->rank(), end = group.back()->rank() + 1;  // of this process
  const auto is_here = [&](int rank) { return rank >= first && rank < end; };
  for (const Kind kind : {Kind::all_reduce, Kind::broadcast, Kind::reduce}) {
    if (!algorithm.has(kind)) continue;
    const int root = kind == Kind::all_reduce ? -1 : 2;
    BytesByLink::Table expected;
    for (const auto& step :
         algorithm.schedule({kind, kRanks, kCount, std::max(root, 0), kSegmentBytes / 4}).steps) {
      for (const comm::Transfer& t : step)
        if (is_here(t.from) && is_here(t.to))
          expected[{t.from - first, t.to - first}] +=
              static_cast<std::size_t>(t.end - t.begin) * sizeof(float);
    }
    run_ranks(group, [&](Communicator& comm) {
      const Tensor x = make_tensor(rounded_values(comm.rank(), kCount), DType::f32, comm.device());
      comm.start({.kind = kind, .input = x, .output = x, .root = root}).wait();
    });
    EXPECT_EQ(traffic.take(), expected) << comm::name(kind);
  }
}

TEST(Algorithm, IsChosenByTheCollectiveToo) {
  if (testing::test_world() != nullptr) GTEST_SKIP() << testing::kOneProcess;
  BytesByLink traffic;
  const Subscription subscription(traffic);
  run_ranks(3, [](Communicator& comm) {
    const Tensor x = make_tensor({1, 2, 3}, DType::f32, comm.device());
    comm.start({.kind = Kind::all_reduce,
                .input = x,
                .output = x,
                .algorithm = &comm::algorithm("reduce_broadcast")})
        .wait();
    EXPECT_EQ(x.to_doubles(), (Values{3, 6, 9}));
  });
  EXPECT_EQ(traffic.take(),
            (BytesByLink::Table{{{1, 0}, 12}, {{2, 0}, 12}, {{0, 1}, 12}, {{0, 2}, 12}}));
}

TEST(Algorithm, ThatDiffersByRankIsADesync) {
  Group group = make_group(2);
  const auto errors = outcomes(group, [](Communicator& comm) {
    const Tensor x = make_tensor({1, 2, 3}, DType::f32, comm.device());
    const char* name = comm.rank() == 0 ? "ring" : "binary_tree";
    comm.start({.kind = Kind::all_reduce,
                .input = x,
                .output = x,
                .algorithm = &comm::algorithm(name)})
        .wait();
  });
  for (const std::exception_ptr& error : errors) {
    EXPECT_THAT(thrown_text<Desync>([&] { std::rethrow_exception(error); }),
                AllOf(HasSubstr("algorithm differs"), HasSubstr("ring"), HasSubstr("binary_tree")));
  }
}

TEST(Algorithm, ThatRefusesACallFreesThePeers) {
  Group group = make_group(3);
  const auto errors = outcomes(group, [](Communicator& comm) {
    const Tensor x = make_tensor({1, 2, 3}, DType::f32, comm.device());
    const Algorithm* chosen = comm.rank() == 1 ? &comm::algorithm("butterfly") : nullptr;
    comm.start({.kind = Kind::all_reduce, .input = x, .output = x, .algorithm = chosen}).wait();
  });
  EXPECT_THAT(thrown_text<InvalidArgument>([&] { std::rethrow_exception(errors[1]); }),
              HasSubstr("butterfly needs a number of ranks that is a power of two, not 3"));
  EXPECT_THAT(thrown_text<CommAborted>([&] { std::rethrow_exception(errors[0]); }),
              HasSubstr("butterfly"));
}

TEST(Algorithm, ThatAGroupCannotHaveIsRefusedAtOnce) {
  const auto text = [](int ranks, comm::GroupOptions options) {
    return thrown_text([&] { comm::make_group(testing::devices(ranks), options); });
  };
  EXPECT_THAT(text(3, {.algorithm = "butterfly"}), HasSubstr("butterfly"));
  EXPECT_THAT(text(4, {.algorithm = "torus_2d", .group = 3}), HasSubstr("torus_2d"));
  EXPECT_THAT(text(2, {.algorithm = "rong"}), AllOf(HasSubstr("'rong'"), HasSubstr("ring")));
  EXPECT_THAT(text(2, {.segment_bytes = 0}), HasSubstr("segment_bytes"));
}

// Collectives that an algorithm does not have are direct in its group.
TEST(Algorithm, LeavesWhatItDoesNotHaveToTheDirectForm) {
  Group group = make_group_of("torus_2d", 4);
  run_ranks(group, [](Communicator& comm) {
    const Tensor part = make_tensor({comm.rank() + 1.0}, DType::f32, comm.device());
    const Tensor whole = make_tensor(Values(4), DType::f32, comm.device());
    comm.all_gather(part, whole);
    comm.broadcast(part, 3);
    comm.barrier();
    EXPECT_EQ(whole.to_doubles(), (Values{1, 2, 3, 4}));
    EXPECT_EQ(part.to_doubles(), (Values{4}));
  });
}

// As Failure.AtAnyMomentLeavesNoRankInAnothersMemory, with steps that threads wait for.
TEST(Algorithm, FailureAtAnyMomentLeavesNoRankInAnothersMemory) {
  for (int round = 0; round < 20; ++round) {
    Group group = make_group_of(round % 2 == 0 ? "ring" : "binary_tree", 3);
    const auto errors = outcomes(group, [&](Communicator& comm) {
      for (int i = 0;; ++i) {
        if (comm.rank() == 1 && i == 5) {
          for (const auto end =
                   std::chrono::steady_clock::now() + std::chrono::microseconds(5 * round);
               std::chrono::steady_clock::now() < end;) {
          }
          throw InvalidArgument("fails now");
        }
        const Tensor x =
            make_tensor(rounded_values(comm.rank(), 20'000), DType::f32, comm.device());
        const comm::Handle dropped = comm.start_reduce(x, ReduceOp::sum, i % 3);
        comm.all_reduce(x);
      }
    });
    EXPECT_THAT(thrown_text<CommAborted>([&] { std::rethrow_exception(errors[0]); }),
                HasSubstr("rank 1"));
  }
}

}  // namespace
}  // namespace tandem
