// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <atomic>
#include <stdexcept>
#include <thread>

#include <gmock/gmock.h>

#include "tandem/autograd/autograd.hpp"
#include "tandem/nn/replicate.hpp"
#include "tandem/optim/sgd.hpp"
#include "tandem/parallel/replica_error.hpp"
#include "tandem/runtime/dispatch.hpp"
#include "tandem/runtime/fault.hpp"

#include "devices.hpp"
#include "parallel/nets.hpp"
#include "thrown_text.hpp"

// What goes wrong in replicas, one or all of them: who is named, what stays, and that the next
// call is right.
namespace tandem::parallel::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::thrown_text;
using Clock = std::chrono::steady_clock;

struct InjectedError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class ReliabilityTest : public ::testing::TestWithParam<Mode> {
 protected:
  ReliabilityTest() { step(); }
  ~ReliabilityTest() override {
    for (const Device d : devices(kDevices))
      logical_device(d).set_limit(SIZE_MAX);
  }
  void step() {
    dp.step(batch, kLoss, &optimizer);
    optimizer.zero_grad();
  }
  /// What a call that fails throws; and that it has no effect, and the next one works.
  template <class F>
  ReplicaError failure(F call) {
    const Values before = values_of(net);
    std::vector<std::size_t> in_use;
    for (const Device d : devices(kDevices))
      in_use.push_back(logical_device(d).memory_stats().in_use);
    std::optional<ReplicaError> error;
    try {
      call();
    } catch (const ReplicaError& e) {
      error.emplace(e);
    }
    optimizer.zero_grad();
    if (!error) throw std::logic_error("the call did not fail");
    EXPECT_EQ(values_of(net), before) << error->what();
    for (std::size_t d = 0; d < in_use.size(); ++d) {
      EXPECT_EQ(logical_device(devices(kDevices)[d]).memory_stats().in_use, in_use[d])
          << "device " << d << ": " << error->what();
    }
    step();
    return *error;
  }

  NormMlp net;
  optim::SGD optimizer{net.named_parameters(), {.lr = 0.01}};
  DataParallel<NormMlp> dp{net, {.devices = devices(kDevices), .mode = GetParam()}};
  Batch batch = make_batch(11, 2, DType::f64, false);
};

/// A loss that throws on one device.
auto throwing_on(int replica, bool in_backward) {
  return [=](NormMlp& m, const Batch& b) {
    const Tensor y = m(b.x);
    if (context().replica != replica) return cross_entropy_sum(y, b.labels);
    if (!in_backward) throw InjectedError("as planned");
    autograd::register_hook(y, [](const Tensor&) -> Tensor { throw InjectedError("as planned"); });
    return cross_entropy_sum(y, b.labels);
  };
}

TEST_P(ReliabilityTest, OneReplicaThrowsInForwardOrBackward) {
  for (const bool in_backward : {false, true}) {
    for (int k = 0; k < kDevices; ++k) {
      const ReplicaError e = failure([&] { dp.step(batch, throwing_on(k, in_backward)); });
      EXPECT_EQ(e.replica, k);
      EXPECT_EQ(e.phase, in_backward ? Phase::backward : Phase::forward);
      EXPECT_THAT(e.what(), AllOf(HasSubstr(testing::device_name(k)), HasSubstr("as planned")));
      EXPECT_TRUE(e.others.empty()) << e.what();
    }
  }
}

TEST_P(ReliabilityTest, EarlierGradientsStay) {
  dp.step(batch, kLoss);
  const Values gradients = gradients_of(net);
  for (const bool in_backward : {false, true}) {
    EXPECT_THROW(dp.step(batch, throwing_on(1, in_backward)), ReplicaError);
    EXPECT_EQ(gradients_of(net), gradients) << (in_backward ? "backward" : "forward");
  }
}

TEST_P(ReliabilityTest, AllReplicasThrowAtOnce) {
  for (const bool in_backward : {false, true}) {
    const ReplicaError e = failure([&] {
      dp.step(batch, [&](NormMlp& m, const Batch& b) {
        const InjectedError error("planned for " + std::to_string(context().replica));
        const Tensor y = m(b.x);
        if (!in_backward) throw error;
        autograd::register_hook(y, [error](const Tensor&) -> Tensor { throw error; });
        return cross_entropy_sum(y, b.labels);
      });
    });
    EXPECT_EQ(e.replica, 0);
    EXPECT_THAT(e.what(), HasSubstr("planned for 0"));
    if (in_backward) continue;  // batch norm: whoever comes later is stopped by the first one
    EXPECT_THAT(e.others,
                ElementsAre(testing::device_name(1) + ": planned for 1",
                            testing::device_name(2) + ": planned for 2"));
  }
}

TEST_P(ReliabilityTest, WhatIsNoExceptionIsWrapped) {
  struct Throws {
    ~Throws() noexcept(false) {
      if (std::uncaught_exceptions() == 0) throw 42;
    }
  };
  for (int k = 0; k < kDevices; ++k) {
    const ReplicaError e = failure([&] {
      dp.step(batch, [&](NormMlp& m, const Batch& b) {
        if (context().replica == k) const Throws throws;
        return cross_entropy_sum(m(b.x), b.labels);
      });
    });
    EXPECT_EQ(e.replica, k);
    EXPECT_THAT(e.what(), HasSubstr("unknown exception"));
  }
}

TEST_P(ReliabilityTest, AnErrorWhileAnotherIsHandledKeepsBoth) {
  const ReplicaError e = failure([&] {
    dp.step(batch, [&](NormMlp& m, const Batch& b) {
      try {
        if (context().replica == 1) throw InjectedError("the first");
      } catch (const InjectedError&) {
        std::throw_with_nested(std::runtime_error("the second"));
      }
      return cross_entropy_sum(m(b.x), b.labels);
    });
  });
  EXPECT_EQ(e.replica, 1);
  EXPECT_THAT(e.what(), HasSubstr("the second"));
  EXPECT_NE(find_cause<InjectedError>(e), nullptr);
}

TEST_P(ReliabilityTest, ThePhaseIsNamed) {
  for (const Phase phase : {Phase::forward, Phase::loss, Phase::backward}) {
    std::atomic<bool> thrown{false};
    const ReplicaError e = failure([&] {
      const WorkFaultScope scope([&](const Work&, Device) {
        if (context().phase == phase && context().replica == 1 && !thrown.exchange(true))
          throw InjectedError("as planned");
      });
      dp.step(batch, kLoss, &optimizer);
    });
    EXPECT_EQ(e.phase, phase) << e.what();
    EXPECT_EQ(e.replica, 1);
  }
}

TEST_P(ReliabilityTest, ARollBackThatFailsAsWellEndsTheWrapperBehindTheFirstError) {
  dp.step(batch, kLoss);  // gradients that a failure is to put back
  const auto caller = std::this_thread::get_id();
  std::atomic<bool> has_failed{false};
  const std::string first = thrown_text<ReplicaError>([&] {
    const WorkFaultScope scope([&](const Work&, Device) {
      if (has_failed && std::this_thread::get_id() == caller) throw InjectedError("no way back");
    });
    dp.step(batch, [&](NormMlp&, const Batch&) -> WeightedSum {
      has_failed = true;
      throw InjectedError("no loss");
    });
  });
  EXPECT_THAT(first, HasSubstr("no loss"));
  EXPECT_THAT(thrown_text<InvalidArgument>([&] { dp.step(batch, kLoss); }),
              AllOf(HasSubstr("no way back"), HasSubstr("restore the checkpoint")));
}

TEST_P(ReliabilityTest, AnErrorWhileTheBatchIsCutIsInScatter) {
  const auto cut = [](const Batch& whole, const Replica& replica) {
    if (replica.index == 1) throw InjectedError("cannot be cut");
    return Batch{whole.x.narrow(0, replica.rows.begin, replica.rows.size()),
                 whole.labels.narrow(0, replica.rows.begin, replica.rows.size())};
  };
  const ReplicaError e =
      failure([&] { dp.step(scatter_by(batch, cut, batch.labels.numel()), kLoss); });
  EXPECT_EQ(e.phase, Phase::scatter) << e.what();
  EXPECT_EQ(e.replica, 1);
  EXPECT_THAT(e.what(), HasSubstr("scatter"));
}

TEST_P(ReliabilityTest, OutOfMemoryOnOneDeviceSaysWhatToDo) {
  for (int k = 0; k < kDevices; ++k) {
    LogicalDevice& device = logical_device(devices(kDevices)[static_cast<std::size_t>(k)]);
    const std::size_t limit = device.memory_stats().in_use + 300;
    const ReplicaError e = failure([&] {
      device.set_limit(limit);
      try {
        dp.step(batch, kLoss, &optimizer);
      } catch (...) {
        device.set_limit(SIZE_MAX);
        throw;
      }
    });
    EXPECT_EQ(e.replica, k);
    const auto* cause = find_cause<OutOfMemory>(e);
    ASSERT_NE(cause, nullptr) << e.what();
    EXPECT_EQ(cause->limit(), limit);
    EXPECT_GT(cause->asked(), 0U);
    EXPECT_FALSE(cause->owners().empty());
    EXPECT_THAT(e.what(),
                AllOf(HasSubstr("out of memory on " + testing::device_name(k)),
                      HasSubstr("largest owners: "),
                      HasSubstr("gpu0_bsz")));
  }
}

INSTANTIATE_TEST_SUITE_P(All,
                         ReliabilityTest,
                         ::testing::ValuesIn(kModes),
                         [](const auto& instance) { return std::string(name(instance.param)); });

/// Returns what fits only on some devices.
struct OddReplica : nn::Module {
  enum class What { columns, type, count } what = What::columns;
  nn::Linear layer{12, 4};
  std::vector<Tensor> forward(const Tensor& x) {
    const Tensor y = layer(x.flatten(1));
    if (context().replica == 0) return {y};
    if (what == What::columns) return {y.narrow(1, 0, 3)};
    if (what == What::type) return {y.to(DType::f64)};
    return {y, y};
  }
  TANDEM_MODULE(OddReplica, layer)
};

TEST(GatherErrors, NameDevicesAndShapes) {
  const Tensor x = make_batch(5, 1, DType::f32, false).x;
  const std::string here = testing::device_name(0), there = testing::device_name(1);
  const std::pair<OddReplica::What, std::vector<std::string>> cases[] = {
      {OddReplica::What::columns, {"f32 (2, 3) on " + there, "f32 (3, 4) on " + here}},
      {OddReplica::What::type, {"f64 (2, 4) on " + there, "f32 (3, 4) on " + here}},
      {OddReplica::What::count, {"part 1 holds 2 tensors, but part 0 holds 1", there, here}}};
  for (const auto& [what, texts] : cases) {
    OddReplica net;
    net.what = what;
    DataParallel dp(net, {.devices = devices(2)});
    const auto in_use = [&] { return logical_device(devices(2)[1]).memory_stats().in_use; };
    std::size_t before = 0;
    for (int i = 0; i < 3; ++i) {
      const std::string error = thrown_text<Error>([&] { dp(x); });
      for (const std::string& text : texts)
        EXPECT_THAT(error, HasSubstr(text));
      if (i > 0) {
        EXPECT_EQ(in_use(), before) << error;
      }
      before = in_use();
    }
  }
}

/// A hung replica, and how long it took to be told of it.
std::string hang(Mode mode, Phase where, std::chrono::milliseconds limit) {
  Mlp net;
  DataParallel dp(net, {.devices = devices(kDevices), .mode = mode, .deadline = limit});
  const Batch batch = make_batch(6, 1, DType::f64, false);
  const auto release = std::make_shared<std::atomic<bool>>(false);
  const auto wait = [release] {
    while (!release->load())
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  const auto start = Clock::now();
  const std::string text = thrown_text<Timeout>([&] {
    dp.step(batch, [wait, where](Mlp& m, const Batch& b) {
      const Tensor y = m(b.x);
      if (context().replica == 2 && where == Phase::forward) wait();
      if (context().replica == 2 && where == Phase::backward) {
        autograd::register_hook(y, [wait](const Tensor&) {
          wait();
          return Tensor();
        });
      }
      return cross_entropy_sum(y, b.labels);
    });
  });
  EXPECT_LT(Clock::now() - start, limit + std::chrono::seconds(1));
  EXPECT_THAT(thrown_text([&] { dp.step(batch, kLoss); }),
              AllOf(HasSubstr("passed the deadline of "), HasSubstr("restore the checkpoint")));
  release->store(true);
  for (const Device d : devices(kDevices))
    logical_device(d).worker().submit([] {}).wait(Clock::now() + std::chrono::seconds(30));
  // In mode classic the replica has a thread of its own, which must have ended before the process.
  // Until then it holds the step's function.
  const auto patience = Clock::now() + std::chrono::seconds(30);
  while (release.use_count() > 2 && Clock::now() < patience)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(release.use_count(), 2) << "held here and by `wait`";
  return text;
}

class HangTest : public ::testing::TestWithParam<Mode> {};

TEST_P(HangTest, IsToldInTimeWithDevicePhaseAndLastOperation) {
  for (const Phase where : {Phase::forward, Phase::backward}) {
    const std::string text = hang(GetParam(), where, std::chrono::milliseconds(200));
    EXPECT_THAT(text,
                HasSubstr(tandem::detail::concat(testing::device_name(2),
                                                 " passed the deadline of 200 ms in phase ",
                                                 where,
                                                 ", after the operation ")));
    EXPECT_THAT(text, ::testing::Not(HasSubstr("operation none")));
  }
}

TEST_P(HangTest, SlowIsNotHung) {
  Mlp net;
  Mlp alone = nn::clone(net);
  const Batch batch = make_batch(6, 1, DType::f64, false);
  DataParallel dp(
      net, {.devices = devices(kDevices), .mode = GetParam(), .checks = {.straggler_ratio = 2}});
  const StepResult result = dp.step(batch, [](Mlp& m, const Batch& b) {
    if (context().replica == 1) std::this_thread::sleep_for(std::chrono::milliseconds(300));
    return cross_entropy_sum(m(b.x), b.labels);
  });
  ASSERT_TRUE(result.straggler.has_value());
  EXPECT_EQ(result.straggler->device, dp.devices()[1]);
  EXPECT_GT(result.straggler->ratio, 2);
  DataParallel same(alone, {.devices = devices(kDevices), .mode = GetParam()});
  same.step(batch, kLoss);
  EXPECT_EQ(gradients_of(net), gradients_of(alone));
}

INSTANTIATE_TEST_SUITE_P(All, HangTest, ::testing::ValuesIn(kModes), [](const auto& instance) {
  return std::string(name(instance.param));
});

}  // namespace
}  // namespace tandem::parallel::test
