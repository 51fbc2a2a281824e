// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// A meeting with an engine that waits for others outside of this process.

#include "comm/meeting.hpp"

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "tandem/runtime/context.hpp"

#include "comm/host_engine.hpp"
#include "thrown_text.hpp"

namespace tandem::comm {
namespace {

using namespace std::chrono_literals;
using State = Operation::State;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::thrown_text;

/// Somebody else is always waited for.
struct OutsideAttendance final : OneProcessAttendance {
  bool lacks_ranks(const Operation& /*op*/) const override { return true; }
};

/// Ends operations when the test says so.
class OutsideEngine final : public Engine {
 public:
  OutsideEngine() : Engine(std::make_shared<OutsideAttendance>()) {}

  void begin(const std::shared_ptr<Operation>& op) override {
    if (refuses) throw CommAborted("no link");
    running.push_back(op);
  }
  void help(Operation&) noexcept override { ++helped; }
  bool ends_by_itself() const noexcept override { return false; }
  void abort(const Failure& why) noexcept override {
    reasons.push_back(why.text);
    for (const auto& op : running)
      op->fail(std::make_shared<const Failure>(why));
    running.clear();
  }
  void drain() noexcept override {}
  std::shared_ptr<Engine> split(const std::vector<int>& ranks, std::int64_t) const override {
    splits.push_back(ranks);
    return std::make_shared<HostEngine>();
  }

  bool refuses = false;
  std::atomic<int> helped{0};
  std::vector<std::shared_ptr<Operation>> running;
  std::vector<std::string> reasons;
  mutable std::vector<std::vector<int>> splits;
};

struct MeetingTest : ::testing::Test {
  static constexpr auto kNoTimeout = std::chrono::milliseconds::max();
  const std::shared_ptr<OutsideEngine> engine = std::make_shared<OutsideEngine>();
  Meeting meeting{RankTable({{DeviceType::cpu, 0}, {DeviceType::cpu, 1}},
                            {"cpu:0 of process 0", "cpu:0 of process 1"},
                            {0, 0},
                            0),
                  {.timeout = 30s},
                  engine};
  float values[2] = {1, 2};

  std::shared_ptr<Operation> arrive(int rank) {
    Part part;
    part.input = part.output = &values[rank];
    part.input_count = part.output_count = 1;
    return meeting.arrive(rank, {{.kind = Collective::Kind::all_reduce, .count = 1}}, {part});
  }
  /// Both ranks have arrived, and the engine has the operation.
  std::shared_ptr<Operation> begun() {
    arrive(0);
    return arrive(1);
  }
  std::string wait_text(const std::shared_ptr<Operation>& op,
                        int rank,
                        std::chrono::milliseconds timeout = kNoTimeout) {
    return thrown_text<Error>([&] { meeting.wait(*op, rank, timeout); });
  }
};

TEST_F(MeetingTest, AnOperationRunsUntilTheEngineEndsIt) {
  const auto op = begun();
  EXPECT_EQ(op->state.load(), State::running);
  auto waiting = std::async(std::launch::async, [&] { meeting.wait(*op, 0, kNoTimeout); });
  EXPECT_EQ(waiting.wait_for(20ms), std::future_status::timeout);
  for (int ms = 0; ms < 10'000 && engine->helped == 0; ++ms)  // its thread may begin late
    std::this_thread::sleep_for(1ms);
  EXPECT_GT(engine->helped, 0);
  op->finish();
  waiting.get();
}

TEST_F(MeetingTest, ADeadlineHoldsWhileTheEngineWaitsForOthers) {
  const auto op = begun();
  EXPECT_THAT(wait_text(op, 1, 20ms),
              AllOf(HasSubstr("all_reduce number 1: the work did not end within 0.02 s")));
  EXPECT_THAT(engine->reasons,
              ElementsAre(HasSubstr("rank 1 (cpu:0 of process 1) gave up: all_reduce number 1")));
  EXPECT_EQ(op->state.load(), State::failed);
  EXPECT_THAT(wait_text(op, 0), HasSubstr("rank 1 (cpu:0 of process 1) gave up"));
}

TEST_F(MeetingTest, AnAbortTokenHoldsWhileTheEngineWaitsForOthers) {
  const auto op = begun();
  const auto token = std::make_shared<AbortToken>();
  token->abort("a replica failed");
  const ContextScope scope([&](Context& c) { c.abort = token; });
  EXPECT_THAT(wait_text(op, 0), HasSubstr("a replica failed"));
  EXPECT_THAT(engine->reasons, ElementsAre("a replica failed"));
}

TEST_F(MeetingTest, AnAbortEndsWhatRuns) {
  const auto op = begun();
  auto waiting = std::async(std::launch::async, [&] { return wait_text(op, 0); });
  meeting.abort("process 1 ended");
  EXPECT_THAT(waiting.get(), HasSubstr("stopped because process 1 ended"));
}

TEST_F(MeetingTest, AFailureOfTheEngineFailsTheGroupUntilItIsReset) {
  const auto op = begun();
  op->fail(std::make_shared<const Failure>(
      Failure{Failure::Kind::aborted, "the connection to process 1 closed"}));
  EXPECT_THAT(wait_text(op, 0), HasSubstr("the connection to process 1 closed"));
  EXPECT_THAT(thrown_text<CommAborted>([&] { arrive(0); }),
              HasSubstr("the connection to process 1 closed"));
  meeting.reset();
  EXPECT_THAT(wait_text(op, 1), HasSubstr("the connection to process 1 closed"));
  const auto next = begun();  // the late rank's failure is that of an earlier generation
  next->finish();
  meeting.wait(*next, 0, kNoTimeout);
}

TEST_F(MeetingTest, ARankThatLeavesAbortsWhatRuns) {
  const auto op = begun();
  meeting.leave(*op, 0);
  EXPECT_EQ(op->state.load(), State::failed);
  EXPECT_THAT(wait_text(op, 1), HasSubstr("rank 0 (cpu:0 of process 0) left all_reduce number 1"));
}

TEST_F(MeetingTest, AnEngineThatCannotBeginFailsAllRanks) {
  engine->refuses = true;
  const auto op = arrive(0);
  EXPECT_THROW(arrive(1), CommAborted);
  EXPECT_THAT(wait_text(op, 0), HasSubstr("all_reduce number 1 failed: no link"));
}

TEST_F(MeetingTest, AMessageThatIsMissingIsNamedByItsPlace) {
  const auto op = arrive(0);
  EXPECT_THAT(wait_text(op, 0, 20ms),
              HasSubstr("rank 1 (cpu:0 of process 1) (0 collectives so far) did not arrive"));
}

TEST_F(MeetingTest, ASplitAsksTheEngineForOneOfTheSameRanks) {
  const auto join = [&](int rank, int color) {
    Part part;
    part.color = color;
    return meeting.arrive(rank, {{.kind = Collective::Kind::split}}, {part});
  };
  join(0, 1);
  const auto op = join(1, 0);
  EXPECT_EQ(meeting.seat(*op, 1).meeting->ranks().name(0), "rank 0 (cpu:0 of process 1)");
  EXPECT_THAT(engine->splits, ElementsAre(ElementsAre(1), ElementsAre(0)));
}

TEST(SignatureTest, NamesItsAlgorithmByIndex) {
  Collective c{.kind = Collective::Kind::all_reduce, .algorithm = &algorithm("ring")};
  EXPECT_EQ(algorithm_of(signature_of(c)), &algorithm("ring"));
  c.algorithm = &algorithm("direct");
  EXPECT_EQ(signature_of(c).algorithm, Signature::kDirect);
}

TEST(SignatureTest, RefusesAnAlgorithmThatIsNotInTheList) {
  const Algorithm own({"mine", {}, nullptr, nullptr, nullptr});
  const Collective c{.kind = Collective::Kind::all_reduce, .algorithm = &own};
  EXPECT_THAT(thrown_text([&] { signature_of(c); }),
              HasSubstr("'mine' is not one of algorithms(); take one from algorithm(name)"));
}

}  // namespace
}  // namespace tandem::comm
