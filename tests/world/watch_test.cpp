// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// What a process hears of the others over its watch, and what it says of one of them.

#include "world/watch.hpp"

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include <gmock/gmock.h>

#include "world/watch_server.hpp"

namespace tandem::world::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using namespace std::chrono_literals;

constexpr auto kPatience = 20s;

struct WatchTest : ::testing::Test {
  const WatchServer server{"127.0.0.1", 2};
  const Watch first{server.address(), 0, kPatience};

  /// What the first says of the other one, once it begins with some text.
  std::string state_that_begins(const std::string& text) const {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    std::string state = first.state(1);
    while (!state.starts_with(text) && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(5ms);
      state = first.state(1);
    }
    return state;
  }
};

TEST_F(WatchTest, BeforeTheFirstSignOfLifeTheMeetingIsTheLastThatIsKnown) {
  EXPECT_THAT(first.state(1),
              AllOf(StartsWith("alive when the processes met, "), HasSubstr(" s ago")));
  EXPECT_THAT(state_that_begins("no sign"), StartsWith("no sign of life for 2."))
      << "a process that stops before it has said who it is";
}

TEST_F(WatchTest, AProcessThatGivesSignsIsAlive) {
  Watch second(server.address(), 1, kPatience);
  second.set_progress([] { return "7 collectives so far"; });
  EXPECT_EQ(state_that_begins("alive, "), "alive, 7 collectives so far");
}

TEST_F(WatchTest, NotesReachTheOthersThatListen) {
  Watch second(server.address(), 1, kPatience);
  std::promise<std::string> heard, answered;
  second.listen_to_notes([&](int process, const std::string& text) {
    heard.set_value(std::to_string(process) + text);
    second.note("here");
  });
  Watch asks(server.address(), 0, kPatience);
  asks.listen_to_notes([&](int process, const std::string& text) {
    answered.set_value(std::to_string(process) + text);
  });
  second.set_progress([] { return "there"; });
  EXPECT_EQ(state_that_begins("alive, "), "alive, there");  // the server knows who it is
  asks.note("where");
  auto note = heard.get_future(), answer = answered.get_future();
  ASSERT_EQ(note.wait_for(kPatience), std::future_status::ready);
  EXPECT_EQ(note.get(), "0where");
  ASSERT_EQ(answer.wait_for(kPatience), std::future_status::ready);
  EXPECT_EQ(answer.get(), "1here");
  second.listen_to_notes({});
  asks.listen_to_notes({});
  asks.note("nobody listens");
}

}  // namespace
}  // namespace tandem::world::test
