// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// What all stores do, and what a server does with clients that are none.

#include "tandem/world/store.hpp"

#include <filesystem>
#include <future>
#include <map>
#include <random>
#include <thread>

#include <gmock/gmock.h>
#include <unistd.h>

#include "tandem/core/error.hpp"
#include "tandem/world/file_store.hpp"
#include "tandem/world/prefix_store.hpp"
#include "tandem/world/store_server.hpp"
#include "tandem/world/tcp_store.hpp"

#include "thrown_text.hpp"

namespace tandem::world::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::thrown_text;
using namespace std::chrono_literals;

enum class Kind { tcp, file, prefix };

class StoreTest : public ::testing::TestWithParam<Kind> {
 protected:
  ~StoreTest() override { std::filesystem::remove(path); }

  /// One more client.
  std::shared_ptr<Store> open(std::chrono::milliseconds timeout = 20s) {
    if (GetParam() == Kind::file) return std::make_shared<FileStore>(path, timeout);
    auto tcp = std::make_shared<TcpStore>(server.address(), timeout);
    if (GetParam() == Kind::tcp) return tcp;
    return std::make_shared<PrefixStore>("run/1", tcp);
  }

  StoreServer server{{"127.0.0.1", 0}};
  std::string path =
      (std::filesystem::temp_directory_path() / ("tandem-store-" + std::to_string(::getpid())))
          .string();
};

std::string kind_name(const ::testing::TestParamInfo<Kind>& info) {
  return info.param == Kind::tcp ? "tcp" : info.param == Kind::file ? "file" : "prefix";
}
INSTANTIATE_TEST_SUITE_P(Stores,
                         StoreTest,
                         ::testing::Values(Kind::tcp, Kind::file, Kind::prefix),
                         kind_name);

TEST_P(StoreTest, AddToWhatIsNoNumberIsRefusedAndTheClientGoesOn) {
  const auto store = open();
  store->set("k", "text");
  EXPECT_THAT(thrown_text([&] { store->add("k", 1); }),
              AllOf(HasSubstr("key"), HasSubstr("'text' is no number")));
  EXPECT_EQ(store->get("k"), "text");
  EXPECT_EQ(store->add("n", 2), 2);
}

TEST_P(StoreTest, OneSeesWhatAnotherSets) {
  const auto a = open(), b = open();
  const std::string bytes("\0\n\xff", 3);
  a->set("key", bytes);
  EXPECT_EQ(b->get("key"), bytes);
  b->set("key", "");
  EXPECT_EQ(a->get("key"), "");
  EXPECT_TRUE(a->check({"key"}));
  EXPECT_FALSE(a->check({"key", "other"}));
}

TEST_P(StoreTest, CountsAndComparesAndAppends) {
  const auto a = open(), b = open();
  EXPECT_EQ(a->add("n", 5), 5);
  EXPECT_EQ(b->add("n", -7), -2);
  EXPECT_EQ(a->get("n"), "-2");
  EXPECT_EQ(a->compare_set("first", "", "a"), "a");
  EXPECT_EQ(b->compare_set("first", "", "b"), "a");
  EXPECT_EQ(b->compare_set("first", "a", "b"), "b");
  EXPECT_EQ(a->compare_set("none", "x", "y"), "x") << "as PyTorch's store answers";
  EXPECT_FALSE(a->check({"none"}));
  a->append("log", "one ");
  b->append("log", "two");
  EXPECT_EQ(a->get("log"), "one two");
  EXPECT_EQ(a->num_keys(), 3);
  EXPECT_TRUE(b->delete_key("log"));
  EXPECT_FALSE(b->delete_key("log"));
  EXPECT_EQ(a->num_keys(), 2);
}

TEST_P(StoreTest, WaitsForWhatAnotherSetsLater) {
  const auto a = open(), b = open();
  auto got = std::async(std::launch::async, [&] {
    a->wait({"x", "y"});
    return a->get("z");
  });
  for (const char* key : {"x", "y", "z"}) {
    std::this_thread::sleep_for(10ms);
    b->set(key, key);
  }
  EXPECT_EQ(got.get(), "z");
}

TEST_P(StoreTest, AWaitEndsAndNamesTheKeysThatAreMissing) {
  const auto store = open(50ms);
  store->set("here", "");
  EXPECT_THAT(thrown_text<Timeout>([&] {
                store->wait({"here", "gone"});
              }),
              AllOf(HasSubstr("50 ms"), HasSubstr("gone'"), Not(HasSubstr("here'"))));
  EXPECT_THROW(store->get("gone"), Timeout);
  store->set("gone", "now");
  EXPECT_EQ(store->get("gone"), "now");
}

TEST_P(StoreTest, ThreadsLoseNoCount) {
  constexpr int kThreads = 4, kTimes = 100;
  std::vector<std::jthread> threads;
  const auto shared = open();
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, own = open(), t] {
      for (int i = 0; i < kTimes; ++i)
        (t % 2 == 0 ? own : shared)->add("n", 1);
    });
  threads.clear();
  EXPECT_EQ(open()->add("n", 0), kThreads * kTimes);
}

// Against a map, 10,000 operations by three clients.
TEST_P(StoreTest, RandomOperationsGiveWhatAMapGives) {
  std::mt19937 random(7);
  const auto draw = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const std::vector<std::shared_ptr<Store>> clients{open(), open(), open()};
  std::map<std::string, std::string> model;
  for (int i = 0; i < 10'000; ++i) {
    Store& store = *clients[static_cast<std::size_t>(draw(3))];
    const std::string word = "k" + std::to_string(draw(20)), count = "n" + std::to_string(draw(5));
    const std::string value = std::to_string(draw(4));
    switch (draw(7)) {
      case 0:
        store.set(word, value);
        store.check({});  // the answer comes after the value has
        model[word] = value;
        break;
      case 1:
        ASSERT_EQ(store.check({word}), model.contains(word));
        if (model.contains(word)) {
          ASSERT_EQ(store.get(word), model[word]);
        }
        break;
      case 2:
        model[count] =
            std::to_string((model.contains(count) ? std::stoll(model[count]) : 0) + draw(100) - 50);
        // The same draw gives the amount: the model's value less what was there.
        ASSERT_EQ(store.add(count, std::stoll(model[count]) - store.add(count, 0)),
                  std::stoll(model[count]));
        break;
      case 3: {
        const std::string expected = draw(2) == 0 ? "" : std::to_string(draw(4));
        const bool is_there = model.contains(word);
        const bool sets = is_there ? model[word] == expected : expected.empty();
        const std::string after = sets ? value : is_there ? model[word] : expected;
        ASSERT_EQ(store.compare_set(word, expected, value), after);
        if (sets) model[word] = value;
        break;
      }
      case 4:
        if (draw(3) != 0) break;
        ASSERT_EQ(store.delete_key(word), model.erase(word) > 0);
        break;
      case 5:
        if (model.contains(word) && model[word].size() > 20) break;
        store.append(word, value);
        store.check({});
        model[word] += value;
        break;
      default:
        ASSERT_EQ(store.num_keys(), static_cast<std::int64_t>(model.size()));
    }
  }
}

TEST(FileStoreTest, AFileThatIsNoStoreIsRefused) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("tandem-none-" + std::to_string(::getpid())))
          .string();
  std::FILE* file = std::fopen(path.c_str(), "w");
  std::fputs("hello", file);
  std::fclose(file);
  EXPECT_THAT(thrown_text<FileError>([&] { FileStore store(path); }), HasSubstr("is no store"));
  std::filesystem::remove(path);
  EXPECT_THROW(FileStore("/no/such/folder/store"), FileError);
}

TEST(TcpStoreTest, WhoIsNotThereIsNamed) {
  const Address nobody = StoreServer({"127.0.0.1", 0}).address();
  EXPECT_THAT(thrown_text<Timeout>([&] { TcpStore store(nobody, 60ms); }),
              AllOf(HasSubstr(to_string(nobody)), HasSubstr("Connection refused")));
  EXPECT_THAT(thrown_text([] {
                TcpStore store({"no.such.host.invalid", 1}, 60ms);
              }),
              HasSubstr("no.such.host.invalid:1 is unknown"));
}

TEST(StoreServerTest, ATakenPortIsNamed) {
  const StoreServer server({"127.0.0.1", 0});
  EXPECT_THAT(thrown_text([&] { StoreServer second(server.address()); }),
              AllOf(HasSubstr(to_string(server.address())), HasSubstr("choose another one")));
}

TEST(StoreServerTest, AClientHearsThatTheServerHasGone) {
  auto server = std::make_unique<StoreServer>(Address{"127.0.0.1", 0});
  TcpStore store(server->address());
  server.reset();
  EXPECT_THROW(store.get("key"), CommError);
}

}  // namespace
}  // namespace tandem::world::test
