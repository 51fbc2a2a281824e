// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Where processes meet whose port another job, or another program, has taken.

#include "world/store_opening.hpp"

#include <future>
#include <optional>

#include <gmock/gmock.h>

#include "tandem/core/error.hpp"

#include "thrown_text.hpp"
#include "world/socket.hpp"

namespace tandem::world::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::thrown_text;
using namespace std::chrono_literals;

std::uint16_t free_port() {
  return Listener({"127.0.0.1", 0}).address().port;
}

/// A process of a job of two processes, whose first port is shared with other jobs.
Launch of_job(const std::string& run,
              int rank,
              std::uint16_t first,
              std::vector<std::uint16_t> others) {
  Launch launch{.launcher = "srun", .rank = rank, .size = 2};
  launch.run = run;
  launch.store = Address{"127.0.0.1", first};
  launch.other_ports = std::move(others);
  return launch;
}

TEST(StoreOpeningTest, TwoJobsWithOnePortMeetApart) {
  const std::uint16_t shared = free_port(), second = free_port(), third = free_port();
  const auto come = [&](const std::string& run, int rank, std::uint16_t other) {
    return open_store(of_job(run, rank, shared, {other}), nullptr, 20s);
  };
  auto late = std::async(std::launch::async, [&] { return come("8.0", 1, third); });
  const OpenStore a = come("7.1", 0, second), b = come("8.0", 0, third);
  EXPECT_EQ(a.server->address().port, shared);
  EXPECT_EQ(b.server->address().port, third);
  a.client->set("key", "of 7.1");
  b.client->set("key", "of 8.0");
  EXPECT_EQ(come("7.1", 1, second).client->get("key"), "of 7.1");
  EXPECT_EQ(late.get().client->get("key"), "of 8.0");
}

TEST(StoreOpeningTest, AProgramThatDoesNotAnswerIsPassedOver) {
  const Listener silent({"127.0.0.1", 0});
  const std::uint16_t port = silent.address().port, other = free_port();
  const OpenStore first = open_store(of_job("9.0", 0, port, {other}), nullptr, 20s);
  first.client->set("key", "here");
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(open_store(of_job("9.0", 1, port, {other}), nullptr, 20s).client->get("key"), "here");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
}

TEST(StoreOpeningTest, APortThatTheUserHasSetIsTheOnlyOne) {
  const Listener taken({"127.0.0.1", 0});
  const Launch launch = of_job("1.0", 0, taken.address().port, {});
  EXPECT_THAT(thrown_text([&] { open_store(launch, nullptr, 20s); }),
              AllOf(HasSubstr("Address already in use"), HasSubstr("choose another one")));
}

TEST(StoreOpeningTest, WhoFindsNoStoreSaysWhereItLooked) {
  const Launch launch = of_job("1.0", 1, free_port(), {free_port()});
  EXPECT_THAT(thrown_text<Timeout>([&] { open_store(launch, nullptr, 300ms); }),
              AllOf(HasSubstr("127.0.0.1:"), HasSubstr("1 other ports"), HasSubstr("MASTER_PORT")));
}

TEST(ListenerTest, LoopbackIsTold) {
  for (const char* host : {"127.0.0.1", "127.0.1.1", "::1", "::ffff:127.0.0.1"})
    EXPECT_TRUE(is_loopback(host)) << host;
  for (const char* host : {"10.0.0.1", "128.0.0.1", "fe80::1", "", "localhost.example"})
    EXPECT_FALSE(is_loopback(host)) << host;
}

}  // namespace
}  // namespace tandem::world::test
