// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Groups within a group, and collectives that are one.

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
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
using comm::Collective;
using comm::Communicator;
using comm::Handle;
using comm::ReduceOp;
using ::testing::AllOf;
using ::testing::AnyOf;
using testing::Group;
using ::testing::HasSubstr;
using testing::make_group;
using testing::make_tensor;
using ::testing::Not;
using testing::outcomes;
using testing::own;
using testing::rank_values;
using testing::run_ranks;
using testing::text_of;
using testing::thrown_text;
using Clock = std::chrono::steady_clock;
using Values = std::vector<double>;

Tensor number(const Communicator& comm, double value) {
  return make_tensor({value}, DType::f32, comm.device());
}

TEST(Split, RanksOfAColorAreOrderedByKeyThenRank) {
  run_ranks(7, [](Communicator& comm) {
    // Colors 0, 1 and none; backwards in color 1.
    const int color = comm.rank() == 6 ? -1 : comm.rank() % 2;
    const auto part = comm.split(color, color == 1 ? -comm.rank() : 0);
    if (color == -1) {
      EXPECT_EQ(part, nullptr);
      return;
    }
    EXPECT_EQ(part->size(), 3);
    EXPECT_EQ(part->rank(), color == 1 ? (5 - comm.rank()) / 2 : comm.rank() / 2);
    EXPECT_EQ(part->device(), comm.device());
    for (int i = 0; i < 20; ++i) {
      const Tensor x = number(comm, comm.rank());
      part->all_reduce(x);
      EXPECT_EQ(x.to_doubles()[0], color == 1 ? 9 : 6);
    }
    const Tensor y = number(comm, comm.rank());
    part->broadcast(y, 0);
    EXPECT_EQ(y.to_doubles()[0], color == 1 ? 5 : 0);
  });
}

TEST(Split, GroupsOfGroupsAndTheWholeWorkSideBySide) {
  run_ranks(8, [](Communicator& comm) {
    const auto half = comm.split(comm.rank() / 4);
    const auto pair = half->split(half->rank() / 2);
    const auto across = comm.split(comm.rank() % 4);
    const Tensor a = number(comm, 1), b = number(comm, 10), c = number(comm, 100);
    const Tensor d = number(comm, comm.rank());
    Handle first = comm.start_all_reduce(a);
    Handle second = half->start_all_reduce(b);
    Handle third = pair->start_all_reduce(c);
    across->all_reduce(d);
    third.wait();
    first.wait();
    second.wait();
    EXPECT_EQ(a.to_doubles()[0], 8);
    EXPECT_EQ(b.to_doubles()[0], 40);
    EXPECT_EQ(c.to_doubles()[0], 200);
    EXPECT_EQ(d.to_doubles()[0], 2 * (comm.rank() % 4) + 4);
    comm.barrier();  // nobody's groups go before the others are done
  });
}

TEST(Split, AFailureGoesDownButNotUp) {
  if (testing::test_world() != nullptr) GTEST_SKIP() << testing::kOneProcess;
  Group group = make_group(4);
  std::vector<std::unique_ptr<Communicator>> parts(4);
  run_ranks(group, [&](Communicator& comm) {
    parts[static_cast<std::size_t>(comm.rank())] = comm.split(comm.rank() / 2);
  });
  parts[0]->abort("the first half stops");
  EXPECT_THAT(thrown_text<CommAborted>([&] { parts[1]->barrier(); }),
              HasSubstr("the first half stops"));
  run_ranks(group, [](Communicator& comm) { comm.barrier(); });
  const auto start = Clock::now();
  const auto errors = outcomes(group, [&](Communicator& comm) {
    if (comm.rank() == 0) throw InvalidArgument("rank 0 has enough");
    if (comm.rank() == 3) parts[3]->barrier();  // rank 2 never comes
  });
  EXPECT_LT(Clock::now() - start, 5s);
  EXPECT_THAT(text_of<CommAborted>(errors[3]), HasSubstr("rank 0 has enough"));
}

TEST(Split, OutlivesTheWholeAndNamesItsOwnRanks) {
  if (testing::test_world() != nullptr) GTEST_SKIP() << testing::kOneProcess;
  std::vector<std::unique_ptr<Communicator>> parts(2);
  {
    Group group = make_group(2, {.timeout = 100ms});
    run_ranks(group, [&](Communicator& comm) {
      parts[static_cast<std::size_t>(comm.rank())] = comm.split(0, -comm.rank());
    });
  }
  EXPECT_THAT(thrown_text<Timeout>([&] { parts[1]->barrier(); }),
              HasSubstr("rank 1 (" + testing::device_name(0) + ")"));
}

TEST(Split, RefusesAColorAndARankThatDoesSomethingElse) {
  Group group = make_group(2);
  const auto errors = outcomes(group, [](Communicator& comm) {
    if (comm.rank() == 0)
      comm.split(-2);
    else
      comm.split(0);
  });
  EXPECT_THAT(text_of<InvalidArgument>(errors[0]), HasSubstr("color is -2"));
  EXPECT_THAT(text_of<CommAborted>(errors[1]), HasSubstr("color is -2"));
  group.front()->reset();
  const auto mixed = outcomes(group, [](Communicator& comm) {
    if (comm.rank() == 0) return comm.barrier();
    comm.split(0);
  });
  for (const auto& error : mixed)
    EXPECT_THAT(text_of<Desync>(error), AllOf(HasSubstr("split"), HasSubstr("barrier")));
}

TEST(GroupOfOne, EveryCollectiveLeavesOrCopiesItsInput) {
  run_ranks(1, [](Communicator& comm) {
    const Values values = rank_values(0, 13, DType::f32);
    const Tensor x = own(comm, 13);
    const auto fresh = [&] { return make_tensor(Values(13), DType::f32, comm.device()); };
    comm.broadcast(x, 0);
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::avg, ReduceOp::min, ReduceOp::product}) {
      comm.reduce(x, op, 0);
      comm.all_reduce(x, op);
    }
    EXPECT_EQ(x.to_doubles(), values);
    const Tensor a = fresh(), b = fresh(), c = fresh(), d = fresh(), e = fresh();
    comm.gather(x, a, 0);
    comm.scatter(x, b, 0);
    comm.all_gather(x, c);
    comm.reduce_scatter(x, d);
    comm.all_to_all(x, e);
    comm.barrier();
    comm.monitored_barrier(1s);
    for (const Tensor& y : {a, b, c, d, e})
      EXPECT_EQ(y.to_doubles(), values);
    EXPECT_EQ(comm.split(0)->size(), 1);
  });
}

TEST(MonitoredBarrier, NamesAllThatAreMissing) {
  Group group = make_group(4);
  const auto start = Clock::now();
  const auto errors = outcomes(group, [](Communicator& comm) {
    comm.monitored_barrier(10s);
    if (comm.rank() % 2 == 0) comm.monitored_barrier(200ms);
  });
  EXPECT_LT(Clock::now() - start, 1200ms);
  for (const int waiting : {0, 2})
    EXPECT_THAT(text_of<CommError>(errors[static_cast<std::size_t>(waiting)]),
                AllOf(HasSubstr(testing::rank_text(1, 4)),
                      HasSubstr(testing::rank_text(3, 4)),
                      HasSubstr("within 0.2 s")));
}

TEST(MonitoredBarrier, NamesNoneOfThoseThatHaveComeAndDoNotWait) {
  Group group = make_group(4);
  const auto errors = outcomes(group, [](Communicator& comm) {
    comm.monitored_barrier(10s);
    if (comm.rank() == 3) return;
    Handle barrier = comm.start_barrier();
    if (comm.rank() == 2) std::this_thread::sleep_for(600ms);
    barrier.wait_for(200ms);
  });
  EXPECT_THAT(text_of<CommError>(errors[0]),
              AllOf(HasSubstr(testing::rank_text(3, 4)), Not(HasSubstr("rank 2"))));
}

TEST(MonitoredBarrier, NamesAllOfThoseThatAreElsewhere) {
  Group group = make_group(4);
  const auto errors = outcomes(group, [](Communicator& comm) {
    comm.monitored_barrier(10s);
    if (comm.rank() < 2) comm.monitored_barrier(200ms);
  });
  EXPECT_THAT(text_of<CommError>(errors[0]),
              AllOf(HasSubstr("did not arrive within 0.2 s"),
                    Not(HasSubstr("one of")),
                    AnyOf(HasSubstr("ranks 2 to 3 (of process 1"),
                          AllOf(HasSubstr(testing::rank_text(2, 4)),
                                HasSubstr(testing::rank_text(3, 4))))));
}

TEST(Coalesced, MixedKindsAndDtypesMeetOnce) {
  for (const int ranks : {1, 2, 3, 7}) {
    run_ranks(ranks, [&](Communicator& comm) {
      const Tensor a = own(comm, 70'001), b = own(comm, 13, DType::i64);
      const Tensor c = own(comm, 0), d = own(comm, 5, DType::boolean);
      const Tensor part = own(comm, comm.rank(), DType::f64);
      const std::int64_t all = ranks * (ranks - 1) / 2;
      const Tensor whole =
          make_tensor(Values(static_cast<std::size_t>(all)), DType::f64, comm.device());
      const Tensor input = own(comm, 2 * ranks);
      const Tensor output =
          make_tensor(Values(static_cast<std::size_t>(2 * ranks)), DType::f32, comm.device());
      Handle handle = comm.start_coalesced({Collective::all_reduce(a),
                                            Collective::broadcast(b, ranks - 1),
                                            Collective::all_reduce(c, ReduceOp::max),
                                            Collective::all_reduce(d, ReduceOp::bor),
                                            Collective::gather(part, whole, 0),
                                            Collective::all_to_all(input, output)});
      handle.wait();
      Values sum = rank_values(0, 70'001, DType::f32), any = rank_values(0, 5, DType::boolean);
      Values joined, exchanged;
      for (int r = 0; r < ranks; ++r) {
        const Values x = rank_values(r, 70'001, DType::f32), y = rank_values(r, 5, DType::boolean);
        for (std::size_t i = 0; r > 0 && i < x.size(); ++i)
          sum[i] += x[i];
        for (std::size_t i = 0; i < y.size(); ++i)
          any[i] = std::max(any[i], y[i]);
        for (const double v : rank_values(r, r, DType::f64))
          joined.push_back(v);
        const Values z = rank_values(r, 2 * ranks, DType::f32);
        exchanged.push_back(z[static_cast<std::size_t>(2 * comm.rank())]);
        exchanged.push_back(z[static_cast<std::size_t>(2 * comm.rank() + 1)]);
      }
      EXPECT_TRUE(a.to_doubles() == sum);
      EXPECT_EQ(b.to_doubles(), rank_values(ranks - 1, 13, DType::i64));
      EXPECT_EQ(d.to_doubles(), any);
      EXPECT_EQ(whole.to_doubles(), comm.rank() == 0 ? joined : Values(joined.size()));
      EXPECT_EQ(output.to_doubles(), exchanged);
    });
  }
}

TEST(Coalesced, TakesAnyNumberOfTensors) {
  run_ranks(2, [](Communicator& comm) {
    std::vector<Tensor> tensors;
    std::vector<Collective> calls;
    for (int i = 0; i < 100; ++i) {
      tensors.push_back(number(comm, i));
      calls.push_back(Collective::all_reduce(tensors.back()));
    }
    comm.coalesced(std::move(calls));
    comm.coalesced({});
    for (int i = 0; i < 100; ++i)
      EXPECT_EQ(tensors[static_cast<std::size_t>(i)].to_doubles()[0], 2 * i);
  });
}

TEST(Coalesced, IsComparedAsAWhole) {
  Group group = make_group(3);
  const auto fewer = outcomes(group, [](Communicator& comm) {
    std::vector<Collective> calls{Collective::all_reduce(own(comm, 3))};
    if (comm.rank() != 1) calls.push_back(Collective::all_reduce(own(comm, 4)));
    comm.coalesced(std::move(calls));
  });
  for (const auto& error : fewer) {
    EXPECT_THAT(text_of<Desync>(error),
                AllOf(HasSubstr("number of coalesced collectives differs"),
                      HasSubstr(testing::rank_text(1, 3)),
                      HasSubstr(" has 1")));
  }
  group.front()->reset();
  const auto other = outcomes(group, [](Communicator& comm) {
    const DType dtype = comm.rank() == 1 ? DType::f64 : DType::f32;
    comm.coalesced(
        {Collective::all_reduce(own(comm, 3)), Collective::broadcast(own(comm, 4, dtype), 0)});
  });
  for (const auto& error : other) {
    EXPECT_THAT(text_of<Desync>(error),
                AllOf(HasSubstr("in coalesced collective 2, dtype differs"),
                      HasSubstr("f32"),
                      HasSubstr("f64")));
  }
  group.front()->reset();
  const auto bad = outcomes(group, [](Communicator& comm) {
    std::vector<Collective> calls{Collective::all_reduce(own(comm, 3)),
                                  Collective::all_reduce(own(comm, 3))};
    if (comm.rank() == 0) calls[1].reduction = ReduceOp::band;  // f32 has no such bits
    comm.coalesced(std::move(calls));
  });
  EXPECT_THAT(text_of<InvalidArgument>(bad[0]), HasSubstr("band of f32"));
  EXPECT_THAT(text_of<CommAborted>(bad[2]), HasSubstr("band of f32"));
  group.front()->reset();
  Collective message = Collective::broadcast(own(*group[0], 3), 0);
  message.kind = Collective::Kind::send;
  EXPECT_THAT(thrown_text([&] { group[0]->coalesced({message}); }),
              HasSubstr("send takes place between two ranks"));
}

}  // namespace
}  // namespace tandem
