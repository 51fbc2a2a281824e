// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Many steps: what the process holds does not grow.

#include <filesystem>
#include <fstream>
#include <stdexcept>

#include <gmock/gmock.h>

#include "tandem/optim/adam.hpp"
#include "tandem/parallel/replica_error.hpp"

#include "parallel/nets.hpp"

namespace tandem::parallel::test {
namespace {

constexpr int kSoakSteps = TANDEM_SOAK_STEPS;
constexpr int kSoakDevices = 8;
constexpr int kRound = 100;  // steps; one of them fails
constexpr std::int64_t kSoakRows = 19;

int threads() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    int n = 0;
    if (word == "Threads:" && status >> n) return n;
  }
  throw std::runtime_error("/proc/self/status has no line Threads:");
}

std::ptrdiff_t descriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

/// What the process holds.
struct Held {
  std::vector<std::size_t> in_use;         // by device
  std::vector<std::uint64_t> from_system;  // by device: allocations that reached the system
  int threads;
  std::ptrdiff_t descriptors;

  friend bool operator==(const Held&, const Held&) = default;
  friend std::ostream& operator<<(std::ostream& s, const Held& h) {
    return s << h.threads << " threads, " << h.descriptors << " descriptors, bytes "
             << ::testing::PrintToString(h.in_use) << ", from the system "
             << ::testing::PrintToString(h.from_system);
  }
};

Held held() {
  Held h{{}, {}, threads(), descriptors()};
  for (const Device d : devices(kSoakDevices)) {
    logical_device(d).stream().synchronize();
    h.in_use.push_back(logical_device(d).memory_stats().in_use);
    h.from_system.push_back(logical_device(d).memory_stats().system_allocations);
  }
  return h;
}

class SoakTest : public ::testing::Test {
 protected:
  void round() {
    for (int i = 0; i < kRound; ++i) {
      if (i == 50) {
        fail();
      } else if (i % 10 == 3) {
        optimizer.zero_grad();
        cross_entropy(dp(batch.x), batch.labels).backward();
        optimizer.step();
      } else {
        dp.step(batch, kLoss, &optimizer);
      }
    }
  }
  void fail() {
    const auto loss = [](NormMlp& m, const Batch& b) {
      const Tensor y = m(b.x);
      if (context().replica == 3) throw std::runtime_error("as planned");
      return cross_entropy_sum(y, b.labels);
    };
    EXPECT_THROW(dp.step(batch, loss, &optimizer), ReplicaError);
  }

  NormMlp net;
  optim::AdamW optimizer{net.named_parameters(), {.lr = 1e-4}};
  DataParallel<NormMlp> dp{net, {.devices = devices(kSoakDevices)}};
  Batch batch = make_batch(kSoakRows, 1, DType::f64, false);
};

TEST_F(SoakTest, BytesThreadsAndDescriptorsDoNotGrow) {
  for (int i = 0; i < 2; ++i)
    round();
  const Held before = held();
  for (int step = 2 * kRound; step < kSoakSteps; step += kRound)
    round();
  EXPECT_EQ(held(), before);
}

}  // namespace
}  // namespace tandem::parallel::test
