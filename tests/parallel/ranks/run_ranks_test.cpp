// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/parallel/run_ranks.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <set>
#include <thread>

#include <gmock/gmock.h>

#include "tandem/comm/group.hpp"
#include "tandem/parallel/data_parallel.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/factories.hpp"

#include "devices.hpp"
#include "parallel/nets.hpp"
#include "thrown_text.hpp"

namespace tandem::parallel::test {
namespace {

using ::testing::AllOf;
using testing::devices;
using ::testing::HasSubstr;
using testing::thrown_text;
using namespace std::chrono_literals;

TEST(RunRanksTest, EachRankHasItsDeviceAndTheWayToTheOthers) {
  std::atomic<int> sum{0};
  run_ranks(devices(3), [&](Rank& rank) {
    EXPECT_EQ(rank.device(), testing::device(rank.rank()));
    EXPECT_EQ(rank.size(), 3);
    EXPECT_EQ(rank.is_main(), rank.rank() == 0);
    EXPECT_EQ(rank.stream().device(), rank.device());
    const Tensor x = full({}, rank.rank() + 1, {.dtype = DType::i64, .device = rank.device()});
    rank.comm().all_reduce(x);
    sum += static_cast<int>(x.item());
  });
  EXPECT_EQ(sum, 18);
}

TEST(RunRanksTest, TheProgramNamesTheAlgorithm) {
  run_ranks(devices(3),
            [](Rank& rank) {
              rank.comm().all_reduce(ones({13}, {.device = rank.device()}));
              rank.main_only([&] {
                EXPECT_THAT(rank.comm().flight_record(), HasSubstr("\"algorithm\": \"ring\""));
              });
            },
            {.algorithm = "ring"});
}

TEST(RunRanksTest, AnAlgorithmIsRefusedAsByAGroup) {
  for (const char* name : {"rong", "butterfly"}) {  // one that is not there, one for powers of two
    const std::string text =
        thrown_text([&] { comm::make_group(devices(3), {.algorithm = name}); });
    EXPECT_THAT(text, HasSubstr(name));
    EXPECT_EQ(thrown_text([&] { run_ranks(devices(3), [](Rank&) {}, {.algorithm = name}); }), text);
  }
}

TEST(RunRanksTest, CallsOfSeveralThreadsDoNotWaitCrosswise) {
  constexpr int kRounds = 200;
  std::atomic<int> met{0};
  const auto meet = [&](std::vector<Device> list) {
    for (int i = 0; i < kRounds; ++i) {
      run_ranks(list,
                [&](Rank& rank) {
                  rank.comm().barrier();
                  ++met;
                },
                {.timeout = 20s});
    }
  };
  std::vector<Device> reversed = devices(3);
  std::ranges::reverse(reversed);
  std::thread other([&] { EXPECT_NO_THROW(meet(reversed)); });
  std::thread trains([&] {
    Mlp net;
    DataParallel dp(net, {.devices = devices(2), .deadline = 20s});
    for (int i = 0; i < kRounds; ++i)
      EXPECT_NO_THROW(dp.step(small_batch(), kLoss));
  });
  EXPECT_NO_THROW(meet(devices(3)));
  other.join();
  trains.join();
  EXPECT_EQ(met, 2 * 3 * kRounds);
}

TEST(RunRanksTest, MainGoesFirst) {
  std::atomic<bool> there{false};
  std::atomic<int> saved{0};
  run_ranks(devices(3), [&](Rank& rank) {
    const int got = rank.main_first([&] {
      if (rank.is_main()) {
        std::this_thread::sleep_for(20ms);
        there = true;
      }
      EXPECT_TRUE(there) << rank.rank();
      return rank.rank();
    });
    EXPECT_EQ(got, rank.rank());
    rank.main_only([&] {
      std::this_thread::sleep_for(20ms);
      ++saved;
    });
    EXPECT_EQ(saved, 1) << rank.rank();
  });
}

TEST(RunRanksTest, AMetricsMeanCountsRowsAndIsTheSameOnAllRanks) {
  const std::vector<double> sums{6, 0, 9}, rows{4, 0, 1};
  std::atomic<int> right{0}, none{0};
  run_ranks(devices(3), [&](Rank& rank) {
    const auto r = static_cast<std::size_t>(rank.rank());
    right += rank.mean(sums[r], rows[r]) == 3.0 ? 1 : 0;
    none += std::isnan(rank.mean(0, 0)) ? 1 : 0;
  });
  EXPECT_EQ(right, 3);
  EXPECT_EQ(none, 3);
}

TEST(RunRanksTest, SeedsOfRanksAreTheirOwn) {
  std::set<std::uint64_t> seeds;
  std::mutex mutex;
  for (const std::uint64_t base : {0, 1, 2}) {
    run_ranks(devices(3), [&](Rank& rank) {
      const std::scoped_lock lock(mutex);
      seeds.insert(rank.seed(base));
      EXPECT_EQ(rank.seed(base), rank.seed(base));
    });
  }
  EXPECT_EQ(seeds.size(), 9u);
}

TEST(RunRanksTest, AFailureFreesTheOthersAndIsNamed) {
  for (const int failing : {0, 1, 2}) {
    std::atomic<int> freed{0};
    try {
      run_ranks(devices(3), [&](Rank& rank) {
        if (rank.rank() == failing) throw std::domain_error("Badness!");
        try {
          rank.comm().barrier();
        } catch (const CommAborted& e) {
          EXPECT_THAT(e.what(), AllOf(HasSubstr("Badness!"), HasSubstr(std::to_string(failing))));
          ++freed;
          throw;
        }
      });
      ADD_FAILURE() << "rank " << failing;
    } catch (const RankError& e) {
      EXPECT_EQ(e.rank, failing);
      EXPECT_EQ(e.device, testing::device(failing));
      EXPECT_TRUE(e.others.empty());
      EXPECT_THAT(e.what(), HasSubstr("Badness!"));
      EXPECT_NE(find_cause<std::domain_error>(e), nullptr);
    }
    EXPECT_EQ(freed, 2);
  }
}

TEST(RunRanksTest, AllFailuresAreTold) {
  try {
    run_ranks(devices(3), [&](Rank& rank) {
      if (rank.rank() == 1) throw 42;
      throw std::domain_error("Badness of " + std::to_string(rank.rank()));
    });
    ADD_FAILURE();
  } catch (const RankError& e) {
    EXPECT_EQ(e.rank, 0);
    EXPECT_EQ(e.others.size(), 2u);
    EXPECT_THAT(e.what(), HasSubstr("Badness of 2"));
  }
}

TEST(RunRanksTest, ARankThatHangsIsNamed) {
  const auto release = std::make_shared<std::atomic<bool>>(false);
  const auto began = std::chrono::steady_clock::now();
  try {
    run_ranks(devices(2),
              [release](Rank& rank) {
                while (rank.rank() == 1 && !*release)
                  std::this_thread::sleep_for(1ms);
                rank.comm().barrier();
              },
              {.timeout = 200ms});
    ADD_FAILURE();
  } catch (const Timeout& e) {
    EXPECT_THAT(e.what(), AllOf(HasSubstr("rank 1"), HasSubstr("did not")));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - began, 10s);
  *release = true;
  logical_device(testing::device(1)).worker().submit([] {}).wait();  // it has ended
}

TEST(RunRanksTest, RanksInRanksAreRefused) {
  EXPECT_THROW(run_ranks({}, [](Rank&) {}), InvalidArgument);
  const std::vector<Device> twice{testing::device(0), testing::device(0)};
  EXPECT_THROW(run_ranks(twice, [](Rank&) {}), InvalidArgument);
  try {
    run_ranks(devices(2), [](Rank& rank) { run_ranks(std::vector{rank.device()}, [](Rank&) {}); });
    ADD_FAILURE();
  } catch (const RankError& e) {
    EXPECT_THAT(e.what(), HasSubstr("from inside a rank"));
  }
}

TEST(RunRanksTest, EndsWhatItsBodyHoldsBeforeItReturns) {
  for (int repeat = 0; repeat < 200; ++repeat) {
    auto held = std::make_shared<int>(0);
    const std::weak_ptr<int> watched = held;
    run_ranks(devices(3), [held = std::move(held)](Rank&) {});
    ASSERT_TRUE(watched.expired()) << "in run " << repeat;
  }
}

}  // namespace
}  // namespace tandem::parallel::test
