// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Collectives under way while the ranks do something else; many small ones in a random order; what
// observers are told.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tandem/comm/row_group_adapter.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/runtime/observer.hpp"

#include "comm/rank_values.hpp"
#include "comm/run_ranks.hpp"
#include "devices.hpp"
#include "thrown_text.hpp"

namespace tandem {
namespace {

using namespace std::chrono_literals;
using comm::Communicator;
using comm::Handle;
using comm::ReduceOp;
using testing::Group;
using ::testing::HasSubstr;
using testing::make_group;
using testing::make_tensor;
using testing::outcomes;
using testing::run_ranks;
using testing::thrown_text;

/// Numbers of f32 whose sums round, so that another order gives other bits.
std::vector<double> noise(int seed, std::int64_t n) {
  std::minstd_rand random(static_cast<unsigned>(seed) + 1);
  std::vector<double> values(static_cast<std::size_t>(n));
  for (double& v : values)
    v = static_cast<float>(random()) / 1e9f - 1.07f;
  return values;
}

TEST(Async, StartedCollectivesGiveWhatTheOthersGive) {
  run_ranks(3, [](Communicator& comm) {
    const auto own = static_cast<double>(comm.rank());
    const auto tensor_of = [&](const std::vector<double>& values) {
      return make_tensor(values, DType::f64, comm.device());
    };
    const Tensor part = tensor_of({own, 10 + own}), whole = tensor_of({0, 0, 0, 0, 0, 0});
    comm.start_all_gather(part, whole).wait();
    EXPECT_EQ(whole.to_doubles(), (std::vector<double>{0, 10, 1, 11, 2, 12}));
    const Tensor here = tensor_of({0, 0, 0, 0, 0, 0}), there = tensor_of({0, 0});
    comm.start_gather(part, here, 1).wait();
    EXPECT_EQ(here.to_doubles(), comm.rank() == 1 ? whole.to_doubles() : std::vector<double>(6));
    comm.start_scatter(whole, there, 2).wait();
    EXPECT_EQ(there.to_doubles(), part.to_doubles());
    comm.start_reduce_scatter(whole, there).wait();
    EXPECT_EQ(there.to_doubles(), (std::vector<double>{3 * own, 3 * (10 + own)}));
  });
}

TEST(Async, StartDoesNotWaitForTheOthers) {
  if (testing::test_world() != nullptr) GTEST_SKIP() << testing::kOneProcess;
  std::atomic<bool> first_has_started{false};
  run_ranks(2, [&](Communicator& comm) {
    const Tensor x = make_tensor({1, 2, 3}, DType::f32, comm.device());
    if (comm.rank() == 1) {  // comes only when rank 0 is back from its start
      while (!first_has_started)
        std::this_thread::sleep_for(1ms);
    }
    Handle handle = comm.start_all_reduce(x);
    EXPECT_TRUE(comm.rank() == 1 || !handle.done());
    first_has_started = true;
    handle.wait();
    EXPECT_TRUE(handle.done());
    handle.wait();
    EXPECT_EQ(x.to_doubles(), (std::vector<double>{2, 4, 6}));
  });
}

TEST(Async, TheLastToComeDoesTheWork) {
  if (testing::test_world() != nullptr) GTEST_SKIP() << testing::kOneProcess;
  std::atomic<int> started{0};
  run_ranks(3, [&](Communicator& comm) {
    const Tensor x = make_tensor(noise(1, 50'000), DType::f32, comm.device());
    Handle handle = comm.start_reduce(x, ReduceOp::sum, 0);
    ++started;
    while (started < 3)
      std::this_thread::sleep_for(1ms);
    EXPECT_TRUE(handle.done()) << "nobody has waited yet";
    handle.wait();
  });
}

TEST(Async, ManyUnderWayGiveTheBitsOfOneByOne) {
  constexpr int kBuckets = 100;
  constexpr int kRanks = 4;
  const auto count = [](int bucket) { return std::int64_t{1} + (bucket * 977) % 20'000; };
  const auto bucket_of = [&](const Communicator& comm, int b) {
    return make_tensor(noise(b * kRanks + comm.rank(), count(b)), DType::f32, comm.device());
  };
  std::vector<std::vector<double>> expected(kBuckets);
  run_ranks(kRanks, [&](Communicator& comm) {
    for (int b = 0; b < kBuckets; ++b) {
      const Tensor x = bucket_of(comm, b);
      comm.all_reduce(x);
      if (comm.device() == testing::device(0))
        expected[static_cast<std::size_t>(b)] = x.to_doubles();
    }
  });
  run_ranks(kRanks, [&](Communicator& comm) {
    std::vector<Tensor> buckets;
    std::vector<Handle> handles;
    for (int b = 0; b < kBuckets; ++b) {
      buckets.push_back(bucket_of(comm, b));
      handles.push_back(comm.start_all_reduce(buckets.back()));
    }
    if (comm.rank() % 2 == 1) std::reverse(handles.begin(), handles.end());  // waits in any order
    for (Handle& handle : handles)
      handle.wait();
    for (int b = 0; b < kBuckets; ++b) {
      EXPECT_TRUE(buckets[static_cast<std::size_t>(b)].to_doubles() ==
                  expected[static_cast<std::size_t>(b)])
          << "bucket " << b << " rank " << comm.rank();
    }
  });
}

TEST(Async, AHandleThatIsDroppedAfterAllHaveComeLeavesTheGroupAlone) {
  run_ranks(3, [](Communicator& comm) {
    const Tensor large = make_tensor(noise(comm.rank(), 2'000'000), DType::f32, comm.device());
    const Tensor small = make_tensor({1}, DType::f32, comm.device());
    for (int i = 0; i < 3; ++i) {
      const Handle dropped = comm.start_all_reduce(large);
      comm.barrier();  // overtakes it, where ranks are in several processes
    }
    comm.all_reduce(small);
    EXPECT_EQ(small.item(), 3);
  });
}

TEST(Async, AHandleThatIsDroppedFailsTheGroupOrEndsItsWork) {
  if (testing::test_world() != nullptr) GTEST_SKIP() << testing::kOneProcess;
  Group group = make_group(2);
  std::atomic<bool> has_left{false};
  const auto errors = outcomes(group, [&](Communicator& comm) {
    const Tensor x = make_tensor(noise(1, 100'000), DType::f32, comm.device());
    if (comm.rank() == 0) {
      { const Handle dropped = comm.start_all_reduce(x); }
      has_left = true;
      return;
    }
    while (!has_left)
      std::this_thread::sleep_for(1ms);
    comm.all_reduce(x);
  });
  ASSERT_EQ(errors[0], nullptr);
  ASSERT_NE(errors[1], nullptr);
  EXPECT_THAT(thrown_text<CommAborted>([&] { std::rethrow_exception(errors[1]); }),
              HasSubstr("rank 0 (" + testing::device_name(0) + ") left all_reduce number 1"));

  group.front()->reset();
  std::atomic<int> started{0};
  run_ranks(group, [&](Communicator& comm) {
    const Tensor x = make_tensor({1}, DType::f32, comm.device());
    const Handle dropped = comm.start_all_reduce(x);
    ++started;
    while (started < 2)
      std::this_thread::sleep_for(1ms);
  });
}

TEST(Async, HandlesOfBeforeAResetHaveFailed) {
  if (testing::test_world() != nullptr) GTEST_SKIP() << testing::kOneProcess;
  Group group = make_group(2);
  const Tensor x = make_tensor({1}, DType::f32, group[0]->device());
  Handle stale = group[0]->start_all_reduce(x);
  group.front()->reset();
  EXPECT_THROW(stale.wait(), CommAborted);
  EXPECT_FALSE(stale.done());
  run_ranks(group, [](Communicator& comm) { comm.barrier(); });
}

/// One of a thousand small collectives; what it is follows from its number alone.
void random_collective(Communicator& comm, int number, std::vector<std::vector<double>>& results) {
  std::mt19937 random(static_cast<unsigned>(number));
  const int root = static_cast<int>(random() % static_cast<unsigned>(comm.size()));
  const std::int64_t n = random() % 50;
  const auto x = make_tensor(noise(number * 8 + comm.rank(), n), DType::f32, comm.device());
  const auto whole =
      make_tensor(noise(number * 8 + comm.rank(), n * comm.size()), DType::f32, comm.device());
  switch (random() % 8) {
    case 0:
      comm.broadcast(x, root);
      break;
    case 1:
      comm.reduce(x, ReduceOp::avg, root);
      break;
    case 2:
      comm.all_reduce(x, ReduceOp::max);
      break;
    case 3:
      comm.gather(x, whole, root);
      break;
    case 4:
      comm.scatter(whole, x, root);
      break;
    case 5:
      comm.all_gather(x, whole);
      break;
    case 6:
      comm.reduce_scatter(whole, x);
      break;
    default:
      comm.barrier();
      comm.all_reduce(x);
  }
  results.push_back(x.to_doubles());
  results.push_back(whole.to_doubles());
}

TEST(Random, AThousandSmallOnesGiveTheSameBitsEachTime) {
  if (testing::test_world() != nullptr) GTEST_SKIP() << testing::kOneProcess;
  constexpr int kRanks = 4;
  const int calls = testing::on_gpus() ? 200 : 1000;  // a stand-in for GPUs takes a minute for all
  using Results = std::vector<std::vector<std::vector<double>>>;
  const auto run = [calls] {
    Results results(kRanks);
    run_ranks(kRanks, [&](Communicator& comm) {
      for (int i = 0; i < calls; ++i)
        random_collective(comm, i, results[static_cast<std::size_t>(comm.rank())]);
    });
    return results;
  };
  const Results first = run();
  EXPECT_EQ(first[0].size(), 2u * static_cast<std::size_t>(calls));
  EXPECT_TRUE(run() == first);
}

TEST(AllReduce, BitsAreEqualOnAllRanksAndThoseOfRankOrder) {
  if (testing::backend() == comm::Backend::nccl) GTEST_SKIP() << "NCCL has an order of its own";
  constexpr int kRanks = 4;
  constexpr std::int64_t kCount = 60'000;
  std::vector<float> expected(kCount);
  for (int r = 0; const int together : testing::ranks_by_process(kRanks)) {
    std::vector<float> sum(kCount);
    for (const int first = r; r < first + together; ++r) {
      const auto x = noise(r, kCount);
      for (std::size_t i = 0; i < x.size(); ++i)
        sum[i] = r == first ? static_cast<float>(x[i]) : sum[i] + static_cast<float>(x[i]);
    }
    for (std::size_t i = 0; i < sum.size(); ++i)
      expected[i] = r == together ? sum[i] : expected[i] + sum[i];
  }
  for (int round = 0; round < 5; ++round) {
    run_ranks(kRanks, [&](Communicator& comm) {
      const Tensor x = make_tensor(noise(comm.rank(), kCount), DType::f32, comm.device());
      comm.all_reduce(x);
      EXPECT_TRUE(x.to_host<float>() == expected) << comm.rank();
    });
  }
}

/// Bytes by (source, destination).
class Traffic final : public Observer {
 public:
  void on_copy(const CopyEvent& e) noexcept override {
    const std::scoped_lock lock(mutex_);
    nbytes_[{e.source.index, e.destination.index}] += e.nbytes;
    if (e.phase != Phase::reduce) ++other_phases_;
  }
  using Table = std::map<std::pair<int, int>, std::size_t>;
  Table take() {
    const std::scoped_lock lock(mutex_);
    EXPECT_EQ(other_phases_, 0) << "the phase is the rank's own";
    return std::exchange(nbytes_, {});
  }

 private:
  std::mutex mutex_;  // guards nbytes_, other_phases_
  Table nbytes_;
  int other_phases_ = 0;
};

TEST(Traffic, EveryByteBetweenDevicesIsCounted) {
  if (testing::test_world() != nullptr) GTEST_SKIP() << testing::kOneProcess;
  Traffic traffic;
  const Subscription subscription(traffic);
  const ContextScope scope([](Context& c) { c.phase = Phase::reduce; });
  Group group = make_group(3);
  const auto bytes_of = [&](auto call) {
    run_ranks(group, [&](Communicator& comm) {
      const auto x = make_tensor(noise(0, 7), DType::f32, comm.device());  // P = 28
      const auto whole = make_tensor(noise(0, 21), DType::f32, comm.device());
      call(comm, x, whole);
    });
    return traffic.take();
  };
  using T = const Tensor&;
  using Table = Traffic::Table;
  const Table to_root{{{0, 1}, 28}, {{2, 1}, 28}};
  const Table from_root{{{1, 0}, 28}, {{1, 2}, 28}};
  const Table all{
      {{0, 1}, 28}, {{0, 2}, 28}, {{1, 0}, 28}, {{1, 2}, 28}, {{2, 0}, 28}, {{2, 1}, 28}};
  EXPECT_EQ(bytes_of([](Communicator& c, T x, T) { c.broadcast(x, 1); }), from_root);
  EXPECT_EQ(bytes_of([](Communicator& c, T x, T) { c.reduce(x, ReduceOp::sum, 1); }), to_root);
  EXPECT_EQ(bytes_of([](Communicator& c, T x, T whole) { c.gather(x, whole, 1); }), to_root);
  EXPECT_EQ(bytes_of([](Communicator& c, T x, T whole) { c.scatter(whole, x, 1); }), from_root);
  EXPECT_EQ(bytes_of([](Communicator& c, T x, T whole) { c.all_gather(x, whole); }), all);
  EXPECT_EQ(bytes_of([](Communicator& c, T x, T whole) { c.reduce_scatter(whole, x); }), all);
  EXPECT_EQ(bytes_of([](Communicator& c, T, T) { c.barrier(); }), Table{});
  EXPECT_EQ(bytes_of([](Communicator& c, T, T whole) {
              c.all_to_all(whole, make_tensor(noise(0, 21), DType::f32, c.device()));
            }),
            all);
  EXPECT_EQ(bytes_of([](Communicator& c, T x, T) {
              if (c.rank() == 0) c.send(x, 2);
              if (c.rank() == 2) c.recv(x, 0);
            }),
            (Table{{{0, 2}, 28}}));
  EXPECT_EQ(
      bytes_of([](Communicator& c, T x, T whole) {
        using comm::Collective;
        c.coalesced({Collective::broadcast(x, 1),
                     Collective::reduce(make_tensor({1}, DType::f64, c.device()), ReduceOp::sum, 1),
                     Collective::gather(x, whole, 1)});
      }),
      (Table{{{1, 0}, 28}, {{1, 2}, 28}, {{0, 1}, 36}, {{2, 1}, 36}}));
  // Shares of 3, 2 and 2 elements: between i and j go both shares, 2 (N-1) P = 112 bytes in all.
  const Table shares{
      {{0, 1}, 20}, {{1, 0}, 20}, {{0, 2}, 20}, {{2, 0}, 20}, {{1, 2}, 16}, {{2, 1}, 16}};
  EXPECT_EQ(bytes_of([](Communicator& c, T x, T) { c.all_reduce(x); }), shares);
}

TEST(RowGroupAdapter, SumsACopy) {
  run_ranks(3, [](Communicator& comm) {
    comm::RowGroupAdapter rows(comm);
    EXPECT_EQ(rows.size(), 3);
    EXPECT_EQ(rows.rank(), comm.rank());
    const Tensor x = make_tensor({1, 2, 3, 4}, DType::f64, comm.device());
    const Tensor strided = as_strided(x, {2, 2}, {1, 2}, x.impl().offset);  // [[1, 3], [2, 4]]
    EXPECT_EQ(rows.all_reduce_sum(strided).to_doubles(), (std::vector<double>{3, 9, 6, 12}));
    EXPECT_EQ(x.to_doubles(), (std::vector<double>{1, 2, 3, 4}));
  });
}

}  // namespace
}  // namespace tandem
