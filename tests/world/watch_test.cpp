// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// What a process hears of the others over its watch, and what it says of one of them.

#include "world/watch.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
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
const Watch::Listener kSeven{.collectives = [] { return 7; }};
constexpr const char* kAliveAtSeven = "alive, 7 collectives so far";

struct WatchTest : ::testing::Test {
  const WatchServer server{"127.0.0.1", 2, "word"};
  Watch first{server.address(), 0, kPatience, "word"};

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
  second.listen(&second, kSeven);
  EXPECT_EQ(state_that_begins("alive, "), kAliveAtSeven);
}

TEST_F(WatchTest, EachListenerHearsAllAndItsCollectivesCount) {
  Watch second(server.address(), 1, kPatience, "word");
  second.listen(&second, kSeven);
  second.listen(&server, {.collectives = [] { return 4; }});
  EXPECT_EQ(state_that_begins("alive, 11"), "alive, 11 collectives so far");
  second.forget(&server);
  EXPECT_EQ(state_that_begins(kAliveAtSeven), kAliveAtSeven);
  second.forget(&second);

  std::mutex mutex;
  std::map<std::string, std::vector<std::string>> heard;
  const auto listener = [&](const std::string& name) {
    const auto hear = [&, name](int process, const std::string& text) {
      const std::scoped_lock lock(mutex);
      heard[name].push_back(std::to_string(process) + text);
    };
    return Watch::Listener{.on_word = hear, .on_end = hear};
  };
  const auto have_heard = [&](const std::string& name, const std::vector<std::string>& texts) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    for (;; std::this_thread::sleep_for(5ms)) {
      const std::scoped_lock lock(mutex);
      if (heard[name] == texts || std::chrono::steady_clock::now() > end)
        return ::testing::AssertionResult(heard[name] == texts) << name;
    }
  };
  int early = 0, other = 0, late = 0;
  first.listen(&early, listener("early"));
  first.listen(&other, listener("other"));
  second.say("first");
  EXPECT_TRUE(have_heard("early", {"1first"}));
  EXPECT_TRUE(have_heard("other", {"1first"}));
  first.listen(&late, listener("late"));
  EXPECT_TRUE(have_heard("late", {"1first"})) << "what was said before";
  first.forget(&other);
  second.mention("second");
  EXPECT_TRUE(have_heard("late", {"1first", "1second"}));
  EXPECT_TRUE(have_heard("early", {"1first", "1second"}));
  EXPECT_TRUE(have_heard("other", {"1first"})) << "nothing once it is forgotten";
  first.forget(&early);
  first.forget(&late);
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
  second.listen(&second, kSeven);
  EXPECT_EQ(state_that_begins("alive, "), kAliveAtSeven);  // the server knows who it is
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
  second.listen(&second, kSeven);
  EXPECT_EQ(state_that_begins("alive, "), kAliveAtSeven);
  Watch listening(server.address(), 0, kPatience, "word");
  listening.listen(&ended, {.on_end = [&](int, const std::string&) { ++ended; }});
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
  listening.forget(&ended);
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
  second.listen(&second, kSeven);
  EXPECT_EQ(state_that_begins("alive, "), kAliveAtSeven);
}

}  // namespace
}  // namespace tandem::world::test
