// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// What a process hears of the others over its watch, and what it says of one of them.

#include "world/watch.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "tandem/core/error.hpp"

#include "world/frame.hpp"
#include "world/socket.hpp"
#include "world/watch_server.hpp"

namespace tandem::world::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using namespace std::chrono_literals;

constexpr auto kPatience = 20s;

struct WatchTest : ::testing::Test {
  const WatchServer server{"127.0.0.1", 2, "word"};
  const Watch first{server.address(), 0, kPatience, "word"};

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
  Watch second(server.address(), 1, kPatience, "word");
  second.set_progress([] { return "7 collectives so far"; });
  EXPECT_EQ(state_that_begins("alive, "), "alive, 7 collectives so far");
}

TEST_F(WatchTest, NotesReachTheOthersThatListen) {
  Watch second(server.address(), 1, kPatience, "word");
  std::promise<std::string> heard, answered;
  second.listen_to_notes([&](int process, const std::string& text) {
    heard.set_value(std::to_string(process) + text);
    second.note("here");
  });
  Watch asks(server.address(), 0, kPatience, "word");
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

TEST_F(WatchTest, WhoDoesNotKnowTheWordIsNoProcess) {
  std::atomic<int> ended{0};
  Watch second(server.address(), 1, kPatience, "word");
  second.set_progress([] { return "there"; });
  EXPECT_EQ(state_that_begins("alive, "), "alive, there");
  Watch listening(server.address(), 0, kPatience, "word");
  listening.listen({.on_word = [](int, const std::string&) {},
                    .on_end = [&](int, const std::string&) { ++ended; }});
  for (const std::string word : {"", "wor", "words", "another"}) {
    const Socket stranger =
        Socket::connect(server.address(), std::chrono::steady_clock::now() + kPatience);
    stranger.send(encode({Frame::Kind::hello, 1, word}),
                  std::chrono::steady_clock::now() + kPatience);
    stranger.send(encode({Frame::Kind::word, 1, "1 aborted final -1 lies"}),
                  std::chrono::steady_clock::now() + kPatience);
  }
  std::this_thread::sleep_for(200ms);
  EXPECT_EQ(ended, 0);
  EXPECT_FALSE(listening.has_words());
  listening.listen({});
}

TEST_F(WatchTest, AStrangerThatSaysMuchIsDropped) {
  const auto by = std::chrono::steady_clock::now() + kPatience;
  const Socket stranger = Socket::connect(server.address(), by);
  const std::string frame = encode({Frame::Kind::hello, 1, std::string(1 << 20, 'x')});
  std::string answer(1, ' ');
  EXPECT_THROW(
      {
        stranger.send(frame, by);
        stranger.receive(answer, by);
      },
      CommError);
}

TEST_F(WatchTest, ManyStrangersLeaveRoomForProcesses) {
  const auto by = std::chrono::steady_clock::now() + kPatience;
  std::vector<Socket> strangers;
  for (int i = 0; i < 300; ++i)
    strangers.push_back(Socket::connect(server.address(), by));
  Watch second(server.address(), 1, kPatience, "word");
  second.set_progress([] { return "there"; });
  EXPECT_EQ(state_that_begins("alive, "), "alive, there");
}

}  // namespace
}  // namespace tandem::world::test
