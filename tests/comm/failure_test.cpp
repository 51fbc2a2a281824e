// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// What a group does when ranks differ, stay away, fail or are stopped: an error on every rank, on
// time.

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tandem/config.hpp"
#include "tandem/runtime/context.hpp"

#include "comm/rank_values.hpp"
#include "comm/run_ranks.hpp"
#include "devices.hpp"
#include "thrown_text.hpp"

namespace tandem {
namespace {

using namespace std::chrono_literals;
using comm::Communicator;
using comm::ReduceOp;
using ::testing::AllOf;
using ::testing::AnyOf;
using testing::devices;
using testing::Group;
using ::testing::HasSubstr;
using testing::make_group;
using testing::make_tensor;
using testing::outcomes;
using testing::text_of;
using testing::thrown_text;
using Clock = std::chrono::steady_clock;

Tensor vector_of(const Communicator& comm, std::int64_t n, DType dtype = DType::f32) {
  return make_tensor(testing::rank_values(comm.rank(), n, dtype), dtype, comm.device());
}

/// The group works: for after a reset.
void expect_usable(Group& group) {
  testing::run_ranks(group, [](Communicator& comm) {
    const Tensor x = make_tensor({1, 2}, DType::f32, comm.device());
    comm.all_reduce(x);
    EXPECT_EQ(x.to_doubles()[1], 2.0 * comm.size());
  });
}

struct Mismatch {
  const char* field;
  std::function<void(Communicator&)> call;  // differs on rank 2
  const char* usual;
  const char* odd;
};
void PrintTo(const Mismatch& m, std::ostream* s) {
  *s << m.field;
}

class DesyncTest : public ::testing::TestWithParam<Mismatch> {};

TEST_P(DesyncTest, IsAnErrorOnEveryRankThatNamesFieldAndValues) {
  Group group = make_group(4);
  outcomes(group, [](Communicator& comm) { comm.barrier(); });
  for (int round = 0; round < 20; ++round) {  // whoever comes first
    const auto errors = outcomes(group, GetParam().call);
    for (const std::exception_ptr& error : errors) {
      EXPECT_THAT(text_of<Desync>(error),
                  AllOf(HasSubstr("collective number " + std::to_string(round == 0 ? 2 : 1)),
                        HasSubstr(GetParam().field + std::string(" differs")),
                        HasSubstr(testing::rank_text(2, 4)),
                        HasSubstr(GetParam().usual),
                        HasSubstr(GetParam().odd)));
    }
    group.front()->reset();
  }
  expect_usable(group);
}

int odd(const Communicator& comm, int usual, int other) {
  return comm.rank() == 2 ? other : usual;
}

INSTANTIATE_TEST_SUITE_P(
    Fields,
    DesyncTest,
    ::testing::Values(Mismatch{"operation",
                               [](Communicator& c) {
                                 if (c.rank() == 2)
                                   c.barrier();
                                 else
                                   c.all_reduce(vector_of(c, 13));
                               },
                               "has all_reduce",
                               "has barrier"},
                      Mismatch{"dtype",
                               [](Communicator& c) {
                                 c.all_reduce(
                                     vector_of(c, 13, c.rank() == 2 ? DType::f64 : DType::f32));
                               },
                               "has f32",
                               "has f64"},
                      Mismatch{"count",
                               [](Communicator& c) { c.all_reduce(vector_of(c, odd(c, 13, 14))); },
                               "has 13",
                               "has 14"},
                      Mismatch{"reduction",
                               [](Communicator& c) {
                                 c.all_reduce(vector_of(c, 13),
                                              c.rank() == 2 ? ReduceOp::max : ReduceOp::sum);
                               },
                               "has sum",
                               "has max"},
                      Mismatch{"root",
                               [](Communicator& c) { c.broadcast(vector_of(c, 13), odd(c, 0, 3)); },
                               "has 0",
                               "has 3"}),
    [](const auto& mismatch) { return std::string(mismatch.param.field); });

TEST(Desync, PartsThatDoNotAddUp) {
  Group group = make_group(3);
  const auto errors = outcomes(group, [](Communicator& comm) {
    const Tensor whole = comm.rank() == 0 ? vector_of(comm, 10) : Tensor();
    comm.gather(vector_of(comm, comm.rank() + 3), whole, 0);
  });
  for (const std::exception_ptr& error : errors) {
    EXPECT_THAT(text_of<Desync>(error),
                AllOf(HasSubstr("gather number 1"), HasSubstr("3 + 4 + 5 = 12"), HasSubstr("10")));
  }
  EXPECT_THAT(text_of<Desync>(outcomes(group, [](Communicator& c) { c.barrier(); })[1]),
              HasSubstr("3 + 4 + 5"))
      << "the group is unusable until it is reset";
  group.front()->reset();
  expect_usable(group);
}

TEST(Timeout, NamesTheRankThatStaysAwayAndEndsOnTime) {
  Group group = make_group(3, {.timeout = 500ms});
  outcomes(group, [](Communicator& comm) { comm.barrier(); });
  const auto start = Clock::now();
  const auto errors = outcomes(group, [](Communicator& comm) {
    if (comm.rank() != 1) comm.all_reduce(vector_of(comm, 13));
  });
  const auto took = Clock::now() - start;
  EXPECT_GE(took, 500ms);
  EXPECT_LT(took, 5s);
  int timeouts = 0;
  // A process counts the collectives of all its groups.
  const bool in_one_process = testing::test_world() == nullptr;
  for (const int r : {0, 2}) {  // the first says Timeout, the other may learn of it
    const std::string text = text_of<CommError>(errors[static_cast<std::size_t>(r)]);
    EXPECT_THAT(text,
                AllOf(HasSubstr("all_reduce number 2"),
                      HasSubstr(testing::rank_text(1, 3)),
                      HasSubstr(in_one_process ? "1 collectives so far) did not arrive within 0.5 s"
                                               : ") did not arrive within 0.5 s")));
    timeouts += text.find("gave up") == std::string::npos ? 1 : 0;
  }
  EXPECT_GE(timeouts, 1);
  const auto late = outcomes(group, [](Communicator& comm) { comm.barrier(); });
  if (in_one_process) {
    EXPECT_THAT(text_of<CommAborted>(late[1]), AllOf(HasSubstr("gave up"), HasSubstr("rank 1")));
  } else {  // which may call before it is told, while the others' all_reduce is still known
    EXPECT_THAT(text_of<CommError>(late[1]),
                AnyOf(AllOf(HasSubstr("gave up"), HasSubstr("rank 1")),
                      AllOf(HasSubstr("has barrier"), HasSubstr("has all_reduce"))));
  }
  group.front()->reset();
  expect_usable(group);
}

TEST(Timeout, FollowsTheContextsDeadline) {
  if (testing::test_world() != nullptr) GTEST_SKIP() << testing::kOneProcess;
  Group group = make_group(2);
  const auto start = Clock::now();
  const ContextScope scope([&](Context& c) { c.deadline = Deadline(50ms); });
  const auto errors = outcomes(group, [](Communicator& comm) {
    if (comm.rank() == 0) comm.barrier();
  });
  EXPECT_THAT(text_of<Timeout>(errors[0]), HasSubstr("before the step's deadline"));
  EXPECT_GE(Clock::now() - start, 50ms);
  EXPECT_LT(Clock::now() - start, 5s);
}

TEST(Abort, FreesThePeersWithTheFirstReason) {
  Group group = make_group(4);
  const auto start = Clock::now();
  const auto errors = outcomes(group, [&](Communicator& comm) {
    if (comm.rank() == 3) {
      std::this_thread::sleep_for(20ms);
      comm.abort("replica 3 is out of memory");
      comm.abort("a later reason");
      throw InvalidArgument("the cause");
    }
    comm.all_reduce(vector_of(comm, 13));
  });
  EXPECT_LT(Clock::now() - start, 5s);
  for (const std::size_t r : {0, 1, 2}) {
    EXPECT_THAT(text_of<CommAborted>(errors[r]),
                AllOf(HasSubstr("all_reduce number 1"), HasSubstr("replica 3 is out of memory")));
  }
  EXPECT_EQ(text_of<InvalidArgument>(errors[3]), "the cause");
  group.front()->reset();
  expect_usable(group);
}

TEST(Abort, ByTheContextsToken) {
  if (testing::test_world() != nullptr) GTEST_SKIP() << testing::kOneProcess;
  Group group = make_group(2);
  const auto token = std::make_shared<AbortToken>();
  const ContextScope scope([&](Context& c) { c.abort = token; });
  const auto errors = outcomes(group, [&](Communicator& comm) {
    if (comm.rank() == 0) return comm.barrier();
    std::this_thread::sleep_for(20ms);
    token->abort("the user stopped the run");
  });
  EXPECT_THAT(text_of<CommAborted>(errors[0]), HasSubstr("the user stopped the run"));
}

TEST(Abort, ByARankThatIsDestroyed) {
  if (testing::test_world() != nullptr) GTEST_SKIP() << testing::kOneProcess;
  Group group = make_group(2);
  Communicator& first = *group[0];
  Ticket waiting = logical_device(first.device()).worker().submit([&] { first.barrier(); });
  std::this_thread::sleep_for(20ms);
  group[1].reset();
  EXPECT_THAT(text_of<CommAborted>(waiting.outcome(Clock::now() + 30s)),
              HasSubstr("rank 1 (" + testing::device_name(1) + ") was destroyed"));
}

// The handle is destroyed before anybody can know what is thrown.
TEST(Abort, ByABodyThatThrowsWhileACollectiveIsUnderWay) {
  Group group = make_group(2);
  const auto errors = outcomes(group, [](Communicator& comm) {
    const Tensor x = ones({100}, {.device = comm.device()});
    if (comm.rank() == 0) {
      std::this_thread::sleep_for(50ms);
      return comm.all_reduce(x);
    }
    try {
      const auto handle = comm.start_all_reduce(x);
      throw std::runtime_error("the body fails");
    } catch (const std::exception& e) {
      comm.abort(e.what());
    }
  });
  EXPECT_THAT(text_of<CommAborted>(errors[0]), HasSubstr("the body fails"));
}

TEST(Abort, ByABodyThatThrowsWhileItHasAGroupOfItsOwn) {
  Group group = make_group(2);
  const auto errors = outcomes(group, [](Communicator& comm) {
    try {
      const auto own = comm.split(0);
      if (comm.rank() == 0) return own->barrier();
      throw std::runtime_error("the body fails");
    } catch (const std::runtime_error& e) {
      if (comm.rank() == 0) throw;
      comm.abort(e.what());
    }
  });
  EXPECT_THAT(text_of<CommAborted>(errors[0]), HasSubstr("the body fails"));
}

TEST(Abort, AHandleThatIsLeftWithoutAReasonIsToldAfterAMoment) {
  Group group = make_group(2);
  const auto errors = outcomes(group, [](Communicator& comm) {
    const Tensor x = ones({100}, {.device = comm.device()});
    if (comm.rank() == 0) return comm.all_reduce(x);
    try {
      const auto handle = comm.start_all_reduce(x);
      throw std::runtime_error("nobody is told of it");
    } catch (const std::runtime_error&) {
    }
  });
  if (errors[0] != nullptr) {  // else it came first
    EXPECT_THAT(text_of<CommAborted>(errors[0]), HasSubstr("without its result"));
  }
}

struct BadCall {
  std::string says;
  std::function<void(Communicator&)> call;
};
void PrintTo(const BadCall& b, std::ostream* s) {
  *s << b.says;
}

class BadCallTest : public ::testing::TestWithParam<BadCall> {};

TEST_P(BadCallTest, IsRefusedAndFreesThePeers) {
  const bool is_of_a_device = GetParam().says.find("this rank is on") != std::string::npos;
  if (testing::test_world() != nullptr && is_of_a_device) GTEST_SKIP() << testing::kOneProcess;
  Group group = make_group(2);
  const auto errors = outcomes(group, [](Communicator& comm) {
    if (comm.rank() == 1) return GetParam().call(comm);
    comm.barrier();
  });
  EXPECT_THAT(text_of<InvalidArgument>(errors[1]), HasSubstr(GetParam().says));
  EXPECT_THAT(text_of<CommAborted>(errors[0]),
              AllOf(HasSubstr(testing::rank_text(1, 2)), HasSubstr(GetParam().says)));
}

INSTANTIATE_TEST_SUITE_P(
    All,
    BadCallTest,
    ::testing::Values(
        BadCall{"must be dense",
                [](Communicator& c) { c.all_reduce(as_strided(vector_of(c, 8), {4}, {2}, 0)); }},
        BadCall{"this rank is on " + testing::device_name(1),
                [](Communicator& c) {
                  c.all_reduce(make_tensor({1}, DType::f32, testing::device(0)));
                }},
        BadCall{"the tensor to send is undefined", [](Communicator& c) { c.all_reduce({}); }},
        BadCall{"the tensor to fill is undefined",
                [](Communicator& c) { c.gather(vector_of(c, 4), {}, 1); }},
        BadCall{
            "the dtypes must be equal",
            [](Communicator& c) { c.all_gather(vector_of(c, 4), vector_of(c, 8, DType::f64)); }},
        BadCall{"root 2 is not one of the 2 ranks",
                [](Communicator& c) { c.broadcast(vector_of(c, 4), 2); }},
        BadCall{"root -1", [](Communicator& c) { c.reduce(vector_of(c, 4), ReduceOp::sum, -1); }},
        BadCall{"avg of i64",
                [](Communicator& c) { c.all_reduce(vector_of(c, 4, DType::i64), ReduceOp::avg); }},
        BadCall{"sum of bool",
                [](Communicator& c) { c.all_reduce(vector_of(c, 4, DType::boolean)); }},
        BadCall{"band of f32",
                [](Communicator& c) { c.reduce(vector_of(c, 4), ReduceOp::band, 0); }},
        BadCall{"scatter: the tensor to send is undefined",
                [](Communicator& c) { c.scatter({}, vector_of(c, 4), 1); }},
        BadCall{"all_gather: the tensor to fill is undefined",
                [](Communicator& c) { c.all_gather(vector_of(c, 4), {}); }},
        BadCall{"send: rank 2 is not one of the 2 ranks",
                [](Communicator& c) { c.send(vector_of(c, 4), 2); }},
        BadCall{"recv: rank -2", [](Communicator& c) { c.recv(vector_of(c, 4), -2); }},
        BadCall{"recv: the tensor to fill is undefined", [](Communicator& c) { c.recv({}, 0); }},
        BadCall{"the input's 3 elements do not divide into 2 even parts",
                [](Communicator& c) { c.all_to_all(vector_of(c, 3), vector_of(c, 4)); }},
        BadCall{"output_counts has 3 numbers for 2 ranks",
                [](Communicator& c) {
                  c.all_to_all(vector_of(c, 4), vector_of(c, 4), {2, 2}, {1, 1, 2});
                }},
        BadCall{"input_counts has -1",
                [](Communicator& c) {
                  c.all_to_all(vector_of(c, 4), vector_of(c, 4), {-1, 5}, {2, 2});
                }},
        BadCall{"output_counts add up to 5, but the output has 4 elements",
                [](Communicator& c) {
                  c.all_to_all(vector_of(c, 4), vector_of(c, 4), {2, 2}, {2, 3});
                }},
        BadCall{"input and output share memory", [](Communicator& c) {
                  const Tensor x = vector_of(c, 4);
                  c.all_to_all(x, x);
                }}));

TEST(MakeGroup, RefusesBadGroups) {
  EXPECT_THAT(thrown_text([] { comm::make_group({}); }), HasSubstr("the list of devices is empty"));
  const std::vector<Device> twice{testing::device(0), testing::device(1), testing::device(0)};
  EXPECT_THAT(thrown_text([&] { comm::make_group(twice); }),
              HasSubstr(testing::device_name(0) + " is listed twice"));
  EXPECT_THAT(thrown_text([] { comm::make_group(devices(2), {.timeout = 0ms}); }),
              HasSubstr("timeout"));
  EXPECT_NO_THROW(comm::make_group(devices(2), {.timeout = std::chrono::milliseconds::max()}));
}

TEST(MakeGroup, SaysThatNcclNeedsGpusWhetherThereIsNcclOrNot) {
  EXPECT_THAT(thrown_text([] {
                comm::make_group(std::vector<Device>{{}}, {.backend = comm::Backend::nccl});
              }),
              AllOf(HasSubstr("cpu:0 is not a GPU"), HasSubstr("use backend local")));
}

TEST(MakeGroup, SaysThatThereIsNoNccl) {
  if (has_nccl) GTEST_SKIP() << "this build has NCCL";
  if (testing::device(0).type == DeviceType::cpu) GTEST_SKIP() << "needs GPUs";
  EXPECT_THAT(thrown_text([] { comm::make_group(devices(2), {.backend = comm::Backend::nccl}); }),
              AllOf(HasSubstr("this build has no NCCL"),
                    HasSubstr("TANDEM_NCCL=ON"),
                    HasSubstr("use backend local")));
}

TEST(Backend, NamesAreRead) {
  for (const auto backend :
       {comm::Backend::local, comm::Backend::nccl, comm::Backend::gloo, comm::Backend::mpi})
    EXPECT_EQ(comm::parse_backend(comm::name(backend)), backend);
  EXPECT_EQ(comm::parse_backend("ucx"), std::nullopt);
}

// A rank stops at every possible moment of the others: the memory it takes away is touched by
// nobody afterwards (address and thread sanitizer look), and no rank hangs.
TEST(Failure, AtAnyMomentLeavesNoRankInAnothersMemory) {
  for (int round = 0; round < 50; ++round) {
    Group group = make_group(3);
    const auto errors = outcomes(group, [&](Communicator& comm) {
      for (int i = 0;; ++i) {
        if (comm.rank() == 1 && i == 5) {
          for (const auto end = Clock::now() + std::chrono::microseconds(2 * round);
               Clock::now() < end;) {
          }
          throw InvalidArgument("fails now");
        }
        comm.all_reduce(vector_of(comm, 20'000));
      }
    });
    EXPECT_EQ(text_of<InvalidArgument>(errors[1]), "fails now");
    EXPECT_THAT(text_of<CommAborted>(errors[0]), HasSubstr("fails now"));
    EXPECT_THAT(text_of<CommAborted>(errors[2]), HasSubstr("fails now"));
  }
}

}  // namespace
}  // namespace tandem
