// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// What goes from rank to rank: all_to_all, send and recv.

#include <chrono>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tandem/comm/communicator.hpp"

#include "comm/rank_values.hpp"
#include "comm/run_ranks.hpp"
#include "devices.hpp"
#include "thrown_text.hpp"

namespace tandem {
namespace {

using namespace std::chrono_literals;
using comm::Communicator;
using comm::Handle;
using ::testing::AllOf;
using testing::Group;
using ::testing::HasSubstr;
using testing::make_group;
using testing::make_tensor;
using testing::outcomes;
using testing::own;
using testing::rank_values;
using testing::run_ranks;
using testing::text_of;
using testing::thrown_text;
using Clock = std::chrono::steady_clock;
using Counts = std::vector<std::int64_t>;
using Values = std::vector<double>;

Tensor blank(const Communicator& comm, std::int64_t n, DType dtype = DType::f32) {
  return make_tensor(Values(static_cast<std::size_t>(n)), dtype, comm.device());
}

/// Elements of rank `from` for rank `to`: uneven, and none for some.
std::int64_t count_of(int from, int to, std::int64_t n) {
  return (from + 2 * to) % 3 == 0 ? 0 : n / (to + 1) + from;
}

Counts counts_of(int rank, int ranks, std::int64_t n, bool sends) {
  Counts counts;
  for (int other = 0; other < ranks; ++other)
    counts.push_back(sends ? count_of(rank, other, n) : count_of(other, rank, n));
  return counts;
}

std::int64_t sum_of(const Counts& counts, int end) {
  return std::accumulate(counts.begin(), counts.begin() + end, std::int64_t{0});
}

/// What rank `to` gets where every rank r sends counts(r) of its rank_values.
template <class F>
Values serial_exchange(int to, int ranks, DType dtype, F counts) {
  Values result;
  for (int from = 0; from < ranks; ++from) {
    const Counts c = counts(from);
    const Values all = rank_values(from, sum_of(c, ranks), dtype);
    const auto begin = all.begin() + sum_of(c, to);
    result.insert(result.end(), begin, begin + c[static_cast<std::size_t>(to)]);
  }
  return result;
}

class ExchangeTest : public ::testing::TestWithParam<std::tuple<int, std::int64_t>> {
 protected:
  const int ranks = std::get<0>(GetParam());
  const std::int64_t n = std::get<1>(GetParam());

  template <class F>
  void for_each_dtype(F f) const {
    for (const DType t : {DType::f32, DType::f64, DType::bf16, DType::i64, DType::u8})
      f(t);
  }
};

TEST_P(ExchangeTest, AllToAllOfUnevenParts) {
  for_each_dtype([&](DType dtype) {
    run_ranks(ranks, [&](Communicator& comm) {
      const Counts sends = counts_of(comm.rank(), ranks, n, true);
      const Counts gets = counts_of(comm.rank(), ranks, n, false);
      const Tensor output = blank(comm, sum_of(gets, ranks), dtype);
      comm.all_to_all(own(comm, sum_of(sends, ranks), dtype), output, sends, gets);
      const Values expected = serial_exchange(
          comm.rank(), ranks, dtype, [&](int from) { return counts_of(from, ranks, n, true); });
      EXPECT_TRUE(output.to_doubles() == expected) << dtype << " rank " << comm.rank();
    });
  });
}

TEST_P(ExchangeTest, AllToAllOfEvenParts) {
  for_each_dtype([&](DType dtype) {
    run_ranks(ranks, [&](Communicator& comm) {
      const Tensor output = blank(comm, n * ranks, dtype);
      Handle handle = comm.start_all_to_all(own(comm, n * ranks, dtype), output);
      handle.wait();
      const Values expected =
          serial_exchange(comm.rank(), ranks, dtype, [&](int) { return Counts(ranks, n); });
      EXPECT_TRUE(output.to_doubles() == expected) << dtype << " rank " << comm.rank();
    });
  });
}

TEST_P(ExchangeTest, MessagesGoRoundInARing) {
  for_each_dtype([&](DType dtype) {
    run_ranks(ranks, [&](Communicator& comm) {
      const int next = (comm.rank() + 1) % ranks;
      const int previous = (comm.rank() + ranks - 1) % ranks;
      const Tensor mine = own(comm, n, dtype);
      const Tensor got = blank(comm, n, dtype);
      Handle sent = comm.start_send(mine, next);
      comm.recv(got, previous);
      sent.wait();
      EXPECT_TRUE(got.to_doubles() == rank_values(previous, n, dtype))
          << dtype << " rank " << comm.rank();
    });
  });
}

INSTANTIATE_TEST_SUITE_P(Local,
                         ExchangeTest,
                         ::testing::Combine(::testing::ValuesIn(testing::group_sizes()),
                                            ::testing::Values(0, 1, 13, 70'001)),
                         [](const auto& sizes) {
                           return std::to_string(std::get<0>(sizes.param)) + "ranks_" +
                                  std::to_string(std::get<1>(sizes.param));
                         });

TEST(AllToAll, CountsThatDoNotMatchAreADesync) {
  Group group = make_group(3);
  const auto errors = outcomes(group, [](Communicator& comm) {
    const Counts sends(3, 2);
    const Counts gets = comm.rank() == 2 ? Counts{2, 3, 2} : Counts(3, 2);
    comm.all_to_all(own(comm, 6), blank(comm, sum_of(gets, 3)), sends, gets);
  });
  for (const std::exception_ptr& error : errors) {
    EXPECT_THAT(text_of<Desync>(error),
                HasSubstr("rank 1 has 2 elements for rank 2, which expects 3"));
  }
}

TEST(Message, TagsAndOrderDecideWhoMeetsWhom) {
  run_ranks(2, [](Communicator& comm) {
    const auto number = [&](double v) { return make_tensor({v}, DType::f32, comm.device()); };
    if (comm.rank() == 0) {
      std::vector<Handle> sent;
      sent.push_back(comm.start_send(number(1), 1, 7));
      sent.push_back(comm.start_send(number(2), 1, 8));
      sent.push_back(comm.start_send(number(3), 1, 7));
      for (Handle& handle : sent)
        handle.wait();
    } else {
      const Tensor a = number(0), b = number(0), c = number(0);
      comm.recv(b, 0, 8);
      comm.recv(a, 0, 7);
      comm.recv(c, 0, 7);
      EXPECT_EQ(a.to_doubles()[0], 1);
      EXPECT_EQ(b.to_doubles()[0], 2);
      EXPECT_EQ(c.to_doubles()[0], 3);
    }
  });
}

// Ranks 0 and 1 exchange between collectives, rank 2 does not: the collectives' order is theirs.
TEST(Message, LeavesTheOrderOfCollectivesAlone) {
  run_ranks(3, [](Communicator& comm) {
    const Tensor x = own(comm, 13);
    Handle first = comm.start_all_reduce(x);
    if (comm.rank() == 0) comm.send(own(comm, 5), 1);
    const Tensor got = blank(comm, 5);
    if (comm.rank() == 1) comm.recv(got, 0);
    comm.barrier();
    first.wait();
    if (comm.rank() == 1) {
      EXPECT_EQ(got.to_doubles(), rank_values(0, 5, DType::f32));
    }
    double expected = 0;
    for (int r = 0; r < 3; ++r)
      expected += rank_values(r, 13, DType::f32)[12];
    EXPECT_EQ(x.to_doubles()[12], expected);
  });
}

TEST(Message, ToItselfIsACopy) {
  run_ranks(2, [](Communicator& comm) {
    const Tensor got = blank(comm, 9);
    Handle sent = comm.start_send(own(comm, 9), comm.rank());
    comm.recv(got, comm.rank());
    sent.wait();
    EXPECT_EQ(got.to_doubles(), rank_values(comm.rank(), 9, DType::f32));
  });
}

// Rank 0 takes what comes first, and answers whom it was from.
TEST(Message, FromAnyRankSaysWhoseItIs) {
  run_ranks(4, [](Communicator& comm) {
    const auto number = [&](double v) { return make_tensor({v}, DType::f64, comm.device()); };
    constexpr int kRounds = 20;
    for (int round = 0; round < kRounds && comm.rank() > 0; ++round) {
      comm.send(number(10 * round + comm.rank()), 0, 5);
      const Tensor answer = number(0);
      EXPECT_EQ(comm.recv(answer, 0), 0);
      EXPECT_EQ(answer.to_doubles()[0], -comm.rank());
    }
    std::map<int, int> rounds;  // that a rank has sent
    for (int i = 0; i < 3 * kRounds && comm.rank() == 0; ++i) {
      const Tensor x = number(0);
      const int from = comm.recv(x, comm::any_source, 5);
      EXPECT_EQ(x.to_doubles()[0], 10 * rounds[from]++ + from);
      comm.send(number(-from), from);
    }
    if (comm.rank() == 0) {
      EXPECT_EQ(rounds, (std::map<int, int>{{1, kRounds}, {2, kRounds}, {3, kRounds}}));
    }
  });
}

TEST(Message, FromAnyRankMeetsItsTagAlone) {
  run_ranks(3, [](Communicator& comm) {
    const auto number = [&](double v) { return make_tensor({v}, DType::f64, comm.device()); };
    if (comm.rank() > 0) return comm.send(number(comm.rank()), 0, comm.rank());
    const Tensor one = number(0), two = number(0);
    Handle second = comm.start_recv(two, comm::any_source, 2);
    EXPECT_EQ(second.source(), -1);
    EXPECT_EQ(comm.recv(one, comm::any_source, 1), 1);
    second.wait();
    EXPECT_EQ(second.source(), 2);
    EXPECT_EQ(one.to_doubles()[0], 1);
    EXPECT_EQ(two.to_doubles()[0], 2);
  });
}

TEST(Message, FromAnyRankEndsOnTimeWhereNobodySends) {
  Group group = make_group(2, {.timeout = 100ms});
  const auto errors = outcomes(group, [](Communicator& comm) {
    if (comm.rank() == 1) comm.recv(blank(comm, 4));
  });
  EXPECT_THAT(text_of<Timeout>(errors[1]),
              HasSubstr("message from any rank to rank 1 with tag 0: a sender did not arrive"));
}

TEST(Message, EndsThatDifferAreADesyncOnBoth) {
  Group group = make_group(3);
  const auto errors = outcomes(group, [](Communicator& comm) {
    if (comm.rank() == 0) comm.send(own(comm, 4), 1, 5);
    if (comm.rank() == 1) comm.recv(blank(comm, 4, DType::f64), 0, 5);
  });
  for (const std::size_t r : {0, 1}) {
    EXPECT_THAT(text_of<Desync>(errors[r]),
                AllOf(HasSubstr("message from rank 0 to rank 1 with tag 5"),
                      HasSubstr("dtype differs"),
                      HasSubstr("f32"),
                      HasSubstr("f64")));
  }
  group.front()->reset();
  const auto counts = outcomes(group, [](Communicator& comm) {
    if (comm.rank() == 0) comm.send(own(comm, 4), 1);
    if (comm.rank() == 1) comm.recv(blank(comm, 5), 0);
  });
  EXPECT_THAT(text_of<Desync>(counts[0]), HasSubstr("count differs"));
}

TEST(Message, AnEndThatWaitsAloneNamesThePeerOnTime) {
  if (testing::test_world() != nullptr) GTEST_SKIP() << testing::kOneProcess;
  for (const bool sends : {true, false}) {
    Group group = make_group(3, {.timeout = 200ms});
    const auto start = Clock::now();
    const auto errors = outcomes(group, [&](Communicator& comm) {
      if (comm.rank() != 2) return;
      if (sends) return comm.send(own(comm, 4), 1, 3);
      comm.recv(own(comm, 4), 1, 3);
    });
    EXPECT_GE(Clock::now() - start, 200ms);
    EXPECT_LT(Clock::now() - start, 1200ms);
    EXPECT_THAT(
        text_of<Timeout>(errors[2]),
        AllOf(HasSubstr("with tag 3"),
              HasSubstr("rank 1 (" + testing::device_name(1) + ") did not arrive within 0.2 s")));
  }
}

TEST(Message, AHandleWaitsAsLongAsItIsTold) {
  Group group = make_group(2);
  const auto start = Clock::now();
  const auto errors = outcomes(group, [](Communicator& comm) {
    if (comm.rank() == 0) comm.start_recv(blank(comm, 4), 1).wait_for(100ms);
  });
  EXPECT_LT(Clock::now() - start, 1100ms);
  EXPECT_THAT(text_of<Timeout>(errors[0]), HasSubstr("did not arrive within 0.1 s"));
  EXPECT_THAT(thrown_text([] { Handle().wait_for(0ms); }), HasSubstr("timeout is 0 ms"));
}

}  // namespace
}  // namespace tandem
