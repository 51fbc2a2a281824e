// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// What goes between processes, over links that a test watches: when messages end, and who keeps
// what.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/processes/collective_exchange.hpp"
#include "comm/processes/mailbox.hpp"
#include "comm/processes/message_exchange.hpp"

namespace tandem::comm {
namespace {

using Kind = Collective::Kind;
using State = Operation::State;

/// Links on which nothing arrives, and of which each message tells what it saw at its end.
class SilentLinks final : public ProcessLinks {
 public:
  explicit SilentLinks(const Operation& op) : op_(op) {}

  std::unique_ptr<Message> send(int, std::uint64_t, const void*, std::size_t) override {
    return message();
  }
  std::unique_ptr<Message> receive(int, std::uint64_t, void*, std::size_t) override {
    return message();
  }
  bool has(const Native&) const noexcept override { return true; }
  int open_order(std::chrono::milliseconds) override { return 0; }
  std::unique_ptr<Message> start(const Native&) override { return message(); }
  bool takes_back() const noexcept override { return true; }
  bool tells() const noexcept override { return false; }

  int under_way = 0;
  std::vector<State> states;  // of the operation, when each message ended

 private:
  class Silent final : public Message {
   public:
    explicit Silent(SilentLinks& links) : links_(links) { ++links_.under_way; }
    ~Silent() override {
      --links_.under_way;
      links_.states.push_back(links_.op_.state);
    }
    bool done() override { return false; }

   private:
    SilentLinks& links_;
  };
  std::unique_ptr<Message> message() { return std::make_unique<Silent>(*this); }

  const Operation& op_;
};

constexpr Device kCpu{DeviceType::cpu, 0};

/// Of rank 0, which is here, and rank 1, which is not.
std::shared_ptr<const Membership> two_processes() {
  return std::make_shared<const Membership>(
      RankTable({kCpu, kCpu}, {"cpu:0 of process 0", "cpu:0 of process 1"}, {0, 1}, 0), 7);
}

std::shared_ptr<Operation> operation(Kind kind, std::vector<float>& data) {
  auto op = std::make_shared<Operation>();
  op->number = 1;
  op->signatures = {{.kind = kind, .count = static_cast<std::int64_t>(data.size()), .root = 0}};
  op->parts.resize(2);
  for (Part& part : op->parts) {
    part.input = part.output = data.data();
    part.input_count = part.output_count = op->signatures.front().count;
  }
  op->state = State::running;
  return op;
}

std::shared_ptr<const Failure> reason() {
  return std::make_shared<const Failure>(Failure{Failure::Kind::aborted, "a test says so"});
}

// Its ranks may free their memory as soon as they hear of it.
TEST(ProcessExchange, TakesMessagesBackBeforeAFailureIsTold) {
  std::vector<float> data(100'000);
  const auto op = operation(Kind::all_reduce, data);
  SilentLinks links(*op);
  const GroupOptions options;
  CollectiveExchange exchange(op, two_processes(), options, 1, {});
  exchange.start(links);
  EXPECT_EQ(links.under_way, 2);
  exchange.fail(reason());
  EXPECT_EQ(links.under_way, 0);
  EXPECT_THAT(links.states, ::testing::Each(State::running));
  EXPECT_EQ(op->state, State::failed);
}

TEST(ProcessExchange, KeepsItsOperationUntilItHasTold) {
  std::vector<float> data(4);
  auto op = operation(Kind::all_reduce, data);
  const std::weak_ptr<Operation> seen = op;
  const GroupOptions options;
  auto exchange =
      std::make_unique<CollectiveExchange>(std::move(op),
                                           two_processes(),
                                           options,
                                           1,
                                           std::vector<std::optional<ProcessLinks::Native>>{});
  EXPECT_FALSE(seen.expired()) << "the last rank may let go of it while it is being ended";
  exchange->complete();
  EXPECT_EQ(seen.lock()->state, State::complete);
  exchange.reset();
  EXPECT_TRUE(seen.expired());
}

TEST(ProcessExchange, ASenderTakesItsMessagesBackBeforeAFailureIsTold) {
  std::vector<float> data(4);
  const auto op = operation(Kind::send, data);
  op->message = Message{.from = 0, .to = 1, .tag = 0};
  SilentLinks links(*op);
  const auto group = two_processes();
  MessageExchange exchange(op, group, std::make_shared<Mailbox>(group), 1);
  exchange.start(links);
  EXPECT_EQ(links.under_way, 3) << "what it announces, its data, and what the receiver says";
  exchange.fail(reason());
  EXPECT_EQ(links.under_way, 0);
  EXPECT_THAT(links.states, ::testing::Each(State::running));
}

TEST(Mailbox, LooksNoMoreOnceItIsClosed) {
  std::vector<float> data(4);
  const auto op = operation(Kind::recv, data);
  SilentLinks links(*op);
  Mailbox mailbox(two_processes());
  mailbox.look(links);
  mailbox.look(links);
  EXPECT_EQ(links.under_way, 1) << "the next announcement of the other process";
  mailbox.close();
  EXPECT_EQ(links.under_way, 0);
  mailbox.look(links);
  EXPECT_EQ(links.under_way, 0);
}

}  // namespace
}  // namespace tandem::comm
