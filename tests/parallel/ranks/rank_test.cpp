// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// What the programs of ranks tell each other besides gradients, on threads and in processes.
#include "tandem/parallel/rank.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <thread>

#include <gmock/gmock.h>

#include "tandem/data/data_loader.hpp"
#include "tandem/parallel/run_ranks.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/factories.hpp"

#include "devices.hpp"
#include "world_of_tests.hpp"

namespace tandem::parallel::test {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::test_world;
using Numbers = std::vector<std::int64_t>;

/// Of this process: three on threads, else two in each process.
std::vector<Device> devices_here() {
  return testing::devices(test_world() == nullptr ? 3 : 2);
}

void on_all_ranks(const std::function<void(Rank&)>& body) {
  run_ranks(
      devices_here(), body, {.timeout = 20s, .backend = testing::backend(), .world = test_world()});
}

/// What each rank of this process threw: of each, the kind and the text.
template <class E>
std::vector<std::string> texts_of(const std::function<void(Rank&)>& body) {
  std::mutex mutex;
  std::vector<std::string> texts;
  on_all_ranks([&](Rank& rank) {
    std::string text = "nothing was thrown";
    try {
      body(rank);
    } catch (const E& e) {
      text = e.what();
    } catch (const std::exception& e) {
      text = std::string("of another kind: ") + e.what();
    }
    const std::scoped_lock lock(mutex);
    texts.push_back(text);
  });
  return texts;
}

// The first test, so that both backends have groups of the same numbers.
TEST(RankTest, GroupsOfTwoBackendsInOneWorldAreApart) {
  if (test_world() == nullptr || testing::backend() != comm::Backend::mpi)
    GTEST_SKIP() << "needs processes that mpirun has started";
  const int processes = test_world()->size();
  using enum comm::Backend;
  for (const comm::Backend backend : {mpi, gloo, gloo, gloo, mpi, mpi}) {
    const int own = backend == gloo ? 1 : 2;
    // The others come first, and do not take the other backend's group for process 0's.
    if (test_world()->rank() == 0) std::this_thread::sleep_for(50ms);
    run_ranks(testing::devices(own),
              [&](Rank& rank) {
                EXPECT_EQ(rank.size(), own * processes);
                rank.comm().barrier();
              },
              {.timeout = 20s, .backend = backend, .world = test_world()});
  }
}

TEST(RankTest, AnErrorFreesTheOthersWhicheverOfTwoBackendsTheGroupHas) {
  if (test_world() == nullptr || testing::backend() != comm::Backend::mpi)
    GTEST_SKIP() << "needs processes that mpirun has started";
  using enum comm::Backend;
  for (const comm::Backend backend : {gloo, mpi, gloo}) {
    const auto began = std::chrono::steady_clock::now();
    try {
      run_ranks(testing::devices(1),
                [&](Rank& rank) {
                  if (rank.rank() == 1) throw std::domain_error("Badness!");
                  rank.comm().barrier();
                },
                {.timeout = 20s, .backend = backend, .world = test_world()});
      ADD_FAILURE() << "nothing was thrown";
    } catch (const RankError& e) {
      EXPECT_THAT(e.what(), AllOf(HasSubstr("rank 1"), HasSubstr("Badness!"))) << name(backend);
    }
    EXPECT_LT(std::chrono::steady_clock::now() - began, 10s) << name(backend);
  }
}

/// Rows of one rank: 0 to 4 of them, whose numbers say whose they are.
Numbers numbers_of(int rank) {
  Numbers rows(static_cast<std::size_t>((rank * 3 + 2) % 5));
  std::iota(rows.begin(), rows.end(), 10 * rank);
  return rows;
}

Tensor tensor_with(const Numbers& values, Device device) {
  return from_host(std::span<const std::int64_t>(values), {std::ssize(values)}, device);
}

TEST(RankTest, GathersUnequalRowsWithoutThoseThatAreRepeated) {
  for (const bool leaves_out : {false, true}) {
    on_all_ranks([&](Rank& rank) {
      const auto repeated = [&](int r) {
        return leaves_out ? std::min<std::int64_t>(r % 3, std::ssize(numbers_of(r))) : 0;
      };
      Numbers expected;
      for (int r = 0; r < rank.size(); ++r) {
        const Numbers rows = numbers_of(r);
        expected.insert(expected.end(), rows.begin(), rows.end() - repeated(r));
      }
      const Tensor own = tensor_with(numbers_of(rank.rank()), rank.device());
      const Tensor all = rank.gather_for_metrics(own, repeated(rank.rank()));
      EXPECT_EQ(all.device(), rank.device());
      EXPECT_EQ(all.to_host<std::int64_t>(), expected) << rank.rank();
    });
  }
}

TEST(RankTest, GathersRowsOfAnyShapeAndDtypeOffTheTape) {
  for (const DType dtype :
       {DType::f32, DType::f64, DType::f16, DType::i64, DType::u8, DType::boolean}) {
    on_all_ranks([&](Rank& rank) {
      // Rows are columns of what is in memory.
      const int odd = rank.rank() % 2;
      Tensor own =
          full({2, 3, odd + 1}, odd, {.dtype = dtype, .device = rank.device()}).permute({2, 1, 0});
      if (dtype == DType::f32) own.requires_grad_();
      const Tensor all = rank.gather_for_metrics(own);
      const int pairs = rank.size() / 2;
      EXPECT_EQ(all.shape(), Shape({3 * pairs + rank.size() % 2, 3, 2}));
      EXPECT_EQ(all.dtype(), dtype);
      EXPECT_FALSE(all.requires_grad());
      EXPECT_EQ(all.to(DType::f64).sum().item(), 12.0 * pairs);
    });
  }
}

TEST(RankTest, NoRankNeedsToHaveRows) {
  on_all_ranks([](Rank& rank) {
    EXPECT_EQ(rank.gather_for_metrics(empty({0, 5}, {.device = rank.device()})).shape(),
              Shape({0, 5}));
    EXPECT_EQ(rank.gather_for_metrics(ones({2}, {.device = rank.device()}), 2).numel(), 0);
  });
}

Numbers all_numbers(Rank& rank, datasets::DataLoader& loader) {
  Numbers all;
  while (const auto batch = loader.next()) {
    const Tensor rows = rank.gather_for_metrics(batch->at(0), loader.repeated_rows());
    const Numbers got = rows.to_host<std::int64_t>();
    all.insert(all.end(), got.begin(), got.end());
  }
  return all;
}

TEST(RankTest, AnEpochsMetricsHaveEachSampleOnce) {
  for (const std::int64_t size : {1, 9, 12, 31}) {
    Numbers samples(static_cast<std::size_t>(size));
    std::iota(samples.begin(), samples.end(), 0);
    const std::vector<Tensor> tensors{tensor_with(samples, {})};
    const auto set = std::make_shared<datasets::TensorDataset>(std::span(tensors));
    for (const std::int64_t batch_size : {1, 2, 4}) {
      on_all_ranks([&](Rank& rank) {
        const auto whole = datasets::random_sampler(size, 3);
        datasets::DataLoader padded(
            set,
            {.batch_size = batch_size,
             .sampler = datasets::distributed_sampler(whole, rank.size(), rank.rank()),
             .unrepeated = datasets::unrepeated_count(size, rank.size(), rank.rank()),
             .device = rank.device()});
        Numbers once = all_numbers(rank, padded);
        std::ranges::sort(once);
        EXPECT_EQ(once, samples) << size << " by " << batch_size;
        datasets::DataLoader parts(set,
                                   {.batch_size = batch_size * rank.size(),
                                    .part = rank.rank(),
                                    .parts = rank.size(),
                                    .device = rank.device()});
        EXPECT_EQ(all_numbers(rank, parts), samples) << "in order";
      });
    }
  }
}

struct Wrong {
  const char* name;
  std::function<Tensor(Rank&)> rows;
  std::int64_t repeated;
  const char* reason;
};
void PrintTo(const Wrong& wrong, std::ostream* s) {
  *s << wrong.name;
}

class WrongRowsTest : public ::testing::TestWithParam<Wrong> {};

TEST_P(WrongRowsTest, OfOneRankAreRefusedOnAllWhichGoOn) {
  const Wrong& wrong = GetParam();
  std::atomic<int> usable = 0;
  const auto texts = texts_of<InvalidArgument>([&](Rank& rank) {
    const bool is_wrong = rank.rank() == 1;
    try {
      rank.gather_for_metrics(is_wrong ? wrong.rows(rank) : ones({4, 2}, {.device = rank.device()}),
                              is_wrong ? wrong.repeated : 0);
    } catch (const InvalidArgument&) {
      usable += std::ssize(rank.gather_objects("x")) == rank.size() ? 1 : 0;
      throw;
    }
  });
  EXPECT_EQ(usable, std::ssize(devices_here()));
  for (const std::string& text : texts)
    EXPECT_THAT(
        text, AllOf(HasSubstr("gather_for_metrics"), HasSubstr("rank 1"), HasSubstr(wrong.reason)));
}

INSTANTIATE_TEST_SUITE_P(
    Kinds,
    WrongRowsTest,
    ::testing::Values(
        Wrong{"undefined", [](Rank&) { return Tensor(); }, 0, "undefined"},
        Wrong{"scalar", [](Rank& r) { return ones({}, {.device = r.device()}); }, 0, "use mean("},
        Wrong{"elsewhere",
              [](Rank& r) {
                return ones({4, 2}, {.device = {r.device().type, 0}});
              },
              0,
              "call .to(device())"},
        Wrong{"repeated",
              [](Rank& r) {
                return ones({4, 2}, {.device = r.device()});
              },
              5,
              "of which 5"},
        Wrong{"negative",
              [](Rank& r) {
                return ones({4, 2}, {.device = r.device()});
              },
              -1,
              "of which -1"},
        Wrong{"shape",
              [](Rank& r) {
                return ones({4, 3}, {.device = r.device()});
              },
              0,
              "f32 of shape [3]"},
        Wrong{"dtype",
              [](Rank& r) {
                return ones({4, 2}, {.dtype = DType::f64, .device = r.device()});
              },
              0,
              "f64 of shape [2]"}),
    [](const auto& test) { return std::string(test.param.name); });

/// Bytes that are no text; those of rank 1 are large, and rank 2 has none.
std::string object_of(int rank) {
  if (rank == 2) return "";
  std::string object = rank == 1 ? std::string((5 << 20) + 1, '\xff') : std::string("a\0b", 3);
  object.back() = static_cast<char>(rank);
  return object;
}

TEST(RankTest, ObjectsOfAnySizeArriveWhole) {
  on_all_ranks([](Rank& rank) {
    const std::vector<std::string> all = rank.gather_objects(object_of(rank.rank()));
    EXPECT_EQ(all.size(), static_cast<std::size_t>(rank.size()));
    for (int r = 0; r < rank.size(); ++r) {
      EXPECT_TRUE(all[static_cast<std::size_t>(r)] == object_of(r)) << r;
      EXPECT_TRUE(rank.broadcast_object(object_of(rank.rank()), r) == object_of(r)) << r;
    }
    EXPECT_EQ(rank.gather_objects("").back(), "");
  });
}

TEST(RankTest, ARootThatIsNotThereIsRefusedOnAllWhichGoOn) {
  const auto texts = texts_of<InvalidArgument>([](Rank& rank) {
    EXPECT_THROW(rank.broadcast_object("x", -1), InvalidArgument);
    rank.broadcast_object("x", rank.size());
  });
  for (const std::string& text : texts)
    EXPECT_THAT(text, AllOf(HasSubstr("broadcast_object: root is"), HasSubstr("ranks, 0 to")));
}

struct Order {
  const char* name;
  std::function<void(Rank&)> usual, other;
  const char *first, *second;
};
void PrintTo(const Order& order, std::ostream* s) {
  *s << order.name;
}

class OtherOrderTest : public ::testing::TestWithParam<Order> {};

TEST_P(OtherOrderTest, OnOneRankIsNamedOnAll) {
  const Order& order = GetParam();
  const auto texts =
      texts_of<Desync>([&](Rank& rank) { (rank.rank() == 1 ? order.other : order.usual)(rank); });
  for (const std::string& text : texts)
    EXPECT_THAT(text, AllOf(HasSubstr(order.first), HasSubstr(order.second), HasSubstr("rank 1")));
}

Tensor one_row(Rank& rank) {
  return ones({1}, {.device = rank.device()});
}
/// As large as what a Rank's calls begin with, and like it in its numbers.
void all_gather_of_three(Rank& rank) {
  rank.comm().all_gather(
      tensor_with({1, 0, 1}, rank.device()),
      tensor_with(Numbers(3 * static_cast<std::size_t>(rank.size())), rank.device()));
}
INSTANTIATE_TEST_SUITE_P(
    Calls,
    OtherOrderTest,
    ::testing::Values(Order{"objects",
                            [](Rank& r) { r.gather_objects("x"); },
                            [](Rank& r) { r.broadcast_object("x"); },
                            "rank 0 is in gather_objects",
                            "rank 1 in broadcast_object from root 0"},
                      Order{"nested",
                            [](Rank& r) { r.broadcast_object(r.gather_objects("x").front()); },
                            [](Rank& r) { r.gather_objects(r.broadcast_object("x")); },
                            "rank 0 is in gather_objects",
                            "rank 1 in broadcast_object from root 0"},
                      Order{"roots",
                            [](Rank& r) { r.broadcast_object("x", 1); },
                            [](Rank& r) { r.broadcast_object("x", 0); },
                            "from root 1",
                            "from root 0"},
                      Order{"rows",
                            [](Rank& r) { r.gather_for_metrics(one_row(r)); },
                            [](Rank& r) { r.gather_objects("x"); },
                            "rank 0 is in gather_for_metrics",
                            "rank 1 in gather_objects"},
                      Order{"waits",
                            [](Rank& r) { r.wait_for_everyone(10s); },
                            [](Rank& r) { r.gather_objects("x"); },
                            "barrier",
                            "all_gather"},
                      Order{"own",
                            [](Rank& r) { r.gather_objects("x"); },
                            all_gather_of_three,
                            "has calls of Rank",
                            "has none"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(RankTest, RanksOfDifferentCallsCanGoOn) {
  on_all_ranks([](Rank& rank) {
    EXPECT_THROW(rank.broadcast_object("x", rank.rank() == 1 ? 0 : 1), Desync);
    EXPECT_EQ(rank.broadcast_object(std::to_string(rank.rank()), 1), "1");
  });
}

TEST(RankTest, WaitsForEveryone) {
  on_all_ranks([](Rank& rank) {
    EXPECT_THROW(rank.wait_for_everyone(0ms), InvalidArgument);
    rank.wait_for_everyone(10s);
  });
}

TEST(RankTest, ARankThatLeavesEarlyIsNamed) {
  const auto began = std::chrono::steady_clock::now();
  std::mutex mutex;
  std::vector<std::string> texts;
  on_all_ranks([&](Rank& rank) {
    if (rank.rank() == 1) return;
    try {
      rank.wait_for_everyone(200ms);
      ADD_FAILURE() << rank.rank();
    } catch (const std::exception& e) {
      const std::scoped_lock lock(mutex);
      texts.emplace_back(e.what());
    }
  });
  EXPECT_LT(std::chrono::steady_clock::now() - began, 10s);
  EXPECT_FALSE(texts.empty());
  for (const std::string& text : texts)
    EXPECT_THAT(text, HasSubstr("rank 1 ("));
}

TEST(RankTest, ARankThatFailsInACallFreesTheOthers) {
  std::mutex mutex;
  std::map<int, std::string> texts;
  EXPECT_THROW(on_all_ranks([&](Rank& rank) {
                 try {
                   if (rank.rank() == 1) throw std::domain_error("Badness!");
                   rank.gather_objects("x");
                   ADD_FAILURE() << rank.rank();
                 } catch (const CommAborted& e) {
                   const std::scoped_lock lock(mutex);
                   texts[rank.rank()] = e.what();
                   throw;
                 }
               }),
               RankError);
  for (const auto& [rank, text] : texts)
    EXPECT_THAT(text, AllOf(HasSubstr("rank 1"), HasSubstr("Badness!"))) << rank;
}

TEST(RankTest, ARankWithoutMemoryFreesTheOthers) {
  const bool has_rank_1 = test_world() == nullptr || test_world()->rank() == 0;
  logical_device(testing::device(1)).set_limit(has_rank_1 ? 1 << 20 : SIZE_MAX);
  const auto began = std::chrono::steady_clock::now();
  try {
    on_all_ranks([](Rank& rank) { rank.gather_objects(std::string(3 << 20, 'x')); });
    ADD_FAILURE() << "nothing was thrown";
  } catch (const RankError& e) {
    EXPECT_THAT(e.what(), AllOf(HasSubstr("rank 1"), HasSubstr("limit")));
  }
  logical_device(testing::device(1)).set_limit(SIZE_MAX);
  EXPECT_LT(std::chrono::steady_clock::now() - began, 10s);
}

TEST(RankTest, RankZeroAlonePrints) {
  ::testing::internal::CaptureStdout();
  bool has_first = false;
  on_all_ranks([&](Rank& rank) {
    if (rank.is_main()) has_first = true;
    rank.print("loss ", 0.5, " on ", rank.rank());
    rank.print();
    rank.print(std::string("a\0b", 3));
  });
  const std::string printed("loss 0.5 on 0\n\na\0b\n", 19);
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), has_first ? printed : "");
}

TEST(RankTest, HasANumberOnItsHost) {
  on_all_ranks(
      [](Rank& rank) { EXPECT_EQ(rank.local_rank(), rank.rank()); });  // all are on this host
}

}  // namespace
}  // namespace tandem::parallel::test
