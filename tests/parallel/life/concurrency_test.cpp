// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <atomic>
#include <latch>
#include <optional>
#include <thread>

#include <gmock/gmock.h>

#include "tandem/autograd/autograd.hpp"
#include "tandem/nn/replicate.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/ops/unary.hpp"
#include "tandem/optim/adam.hpp"
#include "tandem/parallel/replica_error.hpp"

#include "devices.hpp"
#include "parallel/nets.hpp"
#include "thrown_text.hpp"

// Wrappers and threads: many threads on one, many on the same devices, and one that goes while it
// works.
namespace tandem::parallel::test {
namespace {

using ::testing::HasSubstr;
using testing::thrown_text;
using Clock = std::chrono::steady_clock;

constexpr int kThreads = 64;

/// Runs `job(i)` on so many threads, which begin at once.
template <class Job>
void on_threads(int count, const Job& job) {
  std::latch begin(count);
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      begin.arrive_and_wait();
      job(i);
    });
  }
  for (std::thread& thread : threads)
    thread.join();
}

TEST(ConcurrencyTest, ACallAtATimeAndTheOthersAreTold) {
  NormMlp net;
  net.eval();
  DataParallel dp(net, {.devices = devices(3)});
  const Tensor x = make_batch(7, 2, DType::f64, false).x;
  const std::vector<double> right = dp(x).to_doubles();
  std::atomic<int> refused{0};
  on_threads(kThreads, [&](int) {
    for (;;) {
      try {
        EXPECT_EQ(dp(x).to_doubles(), right);
        return;
      } catch (const InvalidArgument& e) {
        EXPECT_THAT(e.what(), HasSubstr("another call is running"));
        ++refused;
        std::this_thread::yield();
      }
    }
  });
  EXPECT_GT(refused, 0) << "the threads never met";
}

TEST(ConcurrencyTest, AStepBesideAStepIsRefusedAndChangesNothing) {
  NormMlp net;
  NormMlp alone = nn::clone(net);
  optim::AdamW optimizer(net.named_parameters(), {.lr = 0.01});
  optim::AdamW other(alone.named_parameters(), {.lr = 0.01});
  const Batch batch = make_batch(7, 2, DType::f64, false);
  {
    DataParallel dp(net, {.devices = devices(2)});
    std::atomic<int> done{0};
    on_threads(4, [&](int) {
      try {
        dp.step(batch, kLoss, &optimizer);
        ++done;
      } catch (const InvalidArgument& e) {
        EXPECT_THAT(e.what(), HasSubstr("another call is running"));
      }
    });
    DataParallel same(alone, {.devices = devices(2)});
    for (int i = 0; i < done; ++i)
      same.step(batch, kLoss, &other);
  }
  EXPECT_EQ(values_of(net), values_of(alone));
}

/// The weights after a few steps, by both loops.
Values train(NormMlp& net, const Batch& batch) {
  optim::AdamW optimizer(net.named_parameters(), {.lr = 0.01});
  DataParallel dp(net, {.devices = devices(3), .chunk_sizes = {4, 0, 7}});
  for (int i = 0; i < 2; ++i) {
    dp.step(batch, kLoss, &optimizer);
    optimizer.zero_grad();
    cross_entropy(dp(batch.x), batch.labels).backward();
    optimizer.step();
  }
  return values_of(net);
}

TEST(ConcurrencyTest, WrappersOnTheSameDevicesDoNotWaitForEachOther) {
  devices(3);  // skips here, not on a thread
  const Batch batch = make_batch(11, 2, DType::f64, false);
  NormMlp net;
  std::vector<NormMlp> nets;
  for (int i = 0; i < kThreads; ++i)
    nets.push_back(nn::clone(net));
  const Values right = train(net, batch);
  on_threads(kThreads, [&](int i) {
    EXPECT_EQ(train(nets[static_cast<std::size_t>(i)], batch), right) << "thread " << i;
  });
}

/// Backward goes over all devices at once, and from there back into the wrapper.
Values train_distributed(Mlp& net, const Batch& batch) {
  optim::AdamW optimizer(net.named_parameters(), {.lr = 0.01});
  DataParallel dp(net, {.devices = devices(3)});
  for (int i = 0; i < 4; ++i) {
    optimizer.zero_grad();
    const auto parts = dp.distributed(batch.x).map([](const Tensor& y) { return sum(square(y)); });
    parts.reduce(Combine::sum).backward();
    optimizer.step();
  }
  return values_of(net);
}

TEST(ConcurrencyTest, BackwardsOverTheSameDevicesDoNotWaitForEachOther) {
  devices(3);  // skips here, not on a thread
  constexpr int kMany = 16;
  const Batch batch = make_batch(11, 2, DType::f64, false);
  Mlp net;
  std::vector<Mlp> nets;
  for (int i = 0; i < kMany; ++i)
    nets.push_back(nn::clone(net));
  const Values right = train_distributed(net, batch);
  on_threads(kMany, [&](int i) {
    EXPECT_EQ(train_distributed(nets[static_cast<std::size_t>(i)], batch), right) << "thread " << i;
  });
}

}  // namespace
}  // namespace tandem::parallel::test
