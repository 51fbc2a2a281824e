// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Each call to CUDA in a training step refused once.

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>

#include <gmock/gmock.h>

#include "tandem/core/error.hpp"
#include "tandem/parallel/replica_error.hpp"

#include "cuda/training.hpp"

namespace tandem::cuda::test {
namespace {

constexpr int kErrorUnknown = 999;  // cudaErrorUnknown: the GPU stays usable

enum class Outcome {
  done,      // the refusal changed nothing: it was of something that is given back, or asked again
  undone,    // an error, and no effect
  half_way,  // an error of the update, after all replicas had agreed to it: nothing goes on
};

/// A step of which the `k`-th call by a name is refused.
Outcome refused_step(Training& training, const std::string& call, int k) {
  const auto before = training.values();
  stand_in::reset();
  stand_in::seed(static_cast<std::uint64_t>(k));
  stand_in::fail_call(call, k, kErrorUnknown);
  std::string text;
  try {
    training.step();
    stand_in::reset();
    return Outcome::done;
  } catch (const Error& e) {
    const auto* cause = find_cause<DeviceError>(e);
    EXPECT_TRUE(cause != nullptr || find_cause<CommAborted>(e) != nullptr) << e.what();
    EXPECT_EQ(cause != nullptr ? cause->code() : kErrorUnknown, kErrorUnknown) << e.what();
    text = e.what();
  }
  stand_in::reset();
  if (training.is_half_way()) return Outcome::half_way;
  EXPECT_EQ(training.values(), before) << text;
  return Outcome::undone;
}

/// A model with all replicas in place.
std::unique_ptr<Training> trained(const std::vector<Device>& devices) {
  auto training = std::make_unique<Training>(devices);
  for (int i = 0; i < 3; ++i)
    training->step_on_both();
  return training;
}

/// Refuses the `k`-th call of a step, for each k, by that name. @return  how often it ended how.
std::map<Outcome, int> refuse(const std::string& call,
                              int count,
                              const std::vector<Device>& devices,
                              std::unique_ptr<Training>& training) {
  std::map<Outcome, int> seen;
  const std::vector<std::size_t> in_use = training->in_use();
  for (int k = 1; k <= count; ++k) {
    SCOPED_TRACE(call + " number " + std::to_string(k));
    const Outcome outcome = refused_step(*training, call, k);
    ++seen[outcome];
    if (outcome == Outcome::half_way) training = trained(devices);
    if (outcome == Outcome::done) training->step_on_host();
    EXPECT_EQ(training->in_use(), in_use);
    training->step_on_both();
    EXPECT_LE(training->gap(), 1e-9);
  }
  return seen;
}

class FaultsTest : public GpusTest {
 protected:
  static void refuse_each_call(const std::vector<Device>& devices) {
    auto training = trained(devices);
    stand_in::reset();
    training->step_on_both();
    const std::set<std::string> harmless{"cudaEventDestroy",
                                         "cudaFreeAsync",
                                         "cudaGetDevice",
                                         "cudaGetLastError",
                                         "cudaMemPoolGetAttribute"};
    for (const auto& [call, count] : stand_in::call_counts()) {
      std::map<Outcome, int> seen = refuse(call, count, devices, training);
      SCOPED_TRACE(call);
      if (harmless.contains(call)) {
        EXPECT_EQ(seen[Outcome::done], count);
      } else {
        EXPECT_GT(seen[Outcome::undone], 0);
      }
      // The last launches of a step, and the exchange of the updated shares; which call is the k-th
      // differs between runs.
      EXPECT_LE(seen[Outcome::half_way], std::max(16, count / 8));
    }
  }
};

TEST_F(FaultsTest, OnOneGpu) {
  refuse_each_call({gpu(0), gpu(1)});
}
TEST_F(FaultsTest, OnTwoGpus) {
  refuse_each_call({gpu(0), gpu(2)});
}

}  // namespace
}  // namespace tandem::cuda::test
