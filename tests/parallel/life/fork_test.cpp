// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tandem/optim/sgd.hpp"
#include "tandem/parallel/replica_error.hpp"

#include "devices.hpp"
#include "parallel/nets.hpp"

// A child of fork() has none of its parent's threads.
namespace tandem::parallel::test {
namespace {

using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;

constexpr auto kMost = std::chrono::seconds(1);
#ifdef __SANITIZE_THREAD__
constexpr bool kThreadSanitizer = true;
#else
constexpr bool kThreadSanitizer = false;
#endif

/// What `body` returns in a child, "killed" where that takes too long.
std::string in_child(const std::function<std::string()>& body) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    const std::string text = body();
    const auto written = ::write(ends[1], text.data(), text.size());
    _exit(written == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  close(ends[1]);
  const auto start = Clock::now();
  int status = 0;
  bool ended = false;
  while (!(ended = waitpid(child, &status, WNOHANG) == child) && Clock::now() - start < kMost)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  std::string text;
  if (!ended) {
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    text = "killed";
  }
  char buffer[4096];
  const auto n = ::read(ends[0], buffer, sizeof buffer);
  close(ends[0]);
  if (!ended) return text;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return "ended by status " + std::to_string(status);
  return {buffer, static_cast<std::size_t>(std::max<ssize_t>(n, 0))};
}

/// What a call throws.
std::string thrown(const std::function<void()>& call) {
  try {
    call();
    return "nothing was thrown";
  } catch (const InvalidArgument& e) {
    return e.what();
  } catch (const std::exception& e) {
    return std::string("another type: ") + e.what();
  }
}

class ForkTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (testing::on_gpus()) GTEST_SKIP() << "CUDA itself does not work in the child of a fork";
    dp.emplace(net, DataParallelOptions{.devices = devices(3)});
    dp->step(batch, kLoss, &optimizer);
  }

  NormMlp net;
  optim::SGD optimizer{net.named_parameters(), {.lr = 0.1}};
  Batch batch = make_batch(9, 1, DType::f64, false);
  std::optional<DataParallel<NormMlp>> dp;
};

TEST_F(ForkTest, TheChildsCallsAreRefusedAtOnceAndTheParentGoesOn) {
  EXPECT_THAT(in_child([&] { return thrown([&] { dp->step(batch, kLoss, &optimizer); }); }),
              HasSubstr("this process was forked after the module was wrapped"));
  EXPECT_THAT(in_child([&] { return thrown([&] { (*dp)(batch.x); }); }), HasSubstr("forked"));
  EXPECT_THAT(in_child([&] { return thrown([&] { dp->sync(); }); }), HasSubstr("forked"));
  dp->step(batch, kLoss, &optimizer);
}

TEST_F(ForkTest, ABackwardInTheChildIsRefused) {
  const Tensor loss = cross_entropy((*dp)(batch.x), batch.labels);
  EXPECT_THAT(in_child([&] { return thrown([&] { loss.backward(); }); }), HasSubstr("forked"));
  loss.backward();
}

TEST_F(ForkTest, TheWrapperEndsInTheChild) {
  EXPECT_EQ(in_child([&] {
              dp.reset();
              return std::string("ended");
            }),
            "ended");
  dp->step(batch, kLoss, &optimizer);
}

TEST_F(ForkTest, TheWrapperEndsInTheChildWhereAnotherThreadIsInACall) {
  std::atomic<bool> inside{false}, release{false};
  std::thread step([&] {
    dp->step(
        batch,
        [&](NormMlp& m, const Batch& b) {
          inside = true;
          while (!release)
            std::this_thread::yield();
          return cross_entropy_sum(m(b.x), b.labels);
        },
        &optimizer);
  });
  while (!inside)
    std::this_thread::yield();
  EXPECT_THAT(in_child([&] { return thrown([&] { dp->sync(); }); }), HasSubstr("forked"));
  EXPECT_EQ(in_child([&] {
              dp.reset();
              return std::string("ended");
            }),
            "ended");
  release = true;
  step.join();
  dp->step(batch, kLoss, &optimizer);
}

TEST_F(ForkTest, ADevicesThreadIsRefusedByName) {
  Worker& worker = logical_device(testing::device(1)).worker();
  EXPECT_THAT(in_child([&] { return thrown([&] { worker.submit([] {}); }); }),
              HasSubstr("worker of cpu:1: its thread stayed in the parent"));
  const Ticket ticket = worker.submit([] {});
  EXPECT_THAT(in_child([&] { return thrown([&] { Ticket(ticket).wait(); }); }),
              HasSubstr("forked"));
  Ticket(ticket).wait();
}

TEST_F(ForkTest, AChildOfItsOwnDevicesTrains) {
  if (kThreadSanitizer) GTEST_SKIP() << "the thread sanitizer starts no threads in a child";
  EXPECT_EQ(in_child([] {
              std::vector<Device> list{{DeviceType::cpu, 60}, {DeviceType::cpu, 61}};
              NormMlp other;
              other.to(list[0]);
              DataParallel fresh(other, {.devices = list});
              fresh.step(make_batch(5, 1, DType::f64, false), kLoss);
              return std::string("trained");
            }),
            "trained");
}

}  // namespace
}  // namespace tandem::parallel::test
