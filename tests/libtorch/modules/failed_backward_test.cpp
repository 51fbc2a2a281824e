// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// A replica fails in dp(x) or in its backward while others wait for it in a batch norm: the error
// comes at once, and the next call works.

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <gmock/gmock.h>

#include "tandem/libtorch/devices.hpp"
#include "tandem/parallel/replica_error.hpp"
#include "tandem/runtime/dispatch.hpp"
#include "tandem/runtime/fault.hpp"
#include "tandem/runtime/observer.hpp"

#include "libtorch/models.hpp"
#include "libtorch/modules/replica_scope.hpp"
#include "libtorch/test_devices.hpp"
#include "thrown_text.hpp"

namespace tandem::libtorch::test {
namespace {

using tandem::testing::thrown_text;
using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t kGraphRows = 11;
constexpr int kGraphDevices = 3;
constexpr int kMostWorks = 2000;
const int kFewestWorks =
    torch_type() == c10::DeviceType::CUDA ? 15 : 50;  // kernels of PyTorch's GPUs are PyTorch's

struct GraphFault : std::runtime_error {
  GraphFault() : std::runtime_error("no luck") {}
};

/// A batch norm before and after the hook, each of which needs the gradient of its input.
struct TwoNormsImpl : torch::nn::Module {
  at::Tensor forward(const at::Tensor& x) {
    at::Tensor h = torch::tanh(middle(first(entry(x))));
    if (on_gradient && h.requires_grad()) h.register_hook(on_gradient);
    return last(head(h));
  }
  static Batch batch(std::int64_t rows) { return MlpImpl::batch(rows); }

  /// Called in each replica's backward.
  static inline std::function<void(const at::Tensor&)> on_gradient = nullptr;

  torch::nn::Linear entry = register_module("entry", torch::nn::Linear(6, 6));
  torch::nn::BatchNorm1d first = register_module("first", torch::nn::BatchNorm1d(6));
  torch::nn::Linear middle = register_module("middle", torch::nn::Linear(6, 8));
  torch::nn::Linear head = register_module("head", torch::nn::Linear(8, 3));
  torch::nn::BatchNorm1d last = register_module("last", torch::nn::BatchNorm1d(3));
};
TORCH_MODULE(TwoNorms);

/// One device and several, whose deadline is the usual one, of minutes.
class FailedBackwardTest : public ::testing::Test {
 protected:
  FailedBackwardTest() {
    torch::manual_seed(3);
    std::tie(one_, many_) = twins<TwoNorms>();
    batch_ = TwoNormsImpl::batch(kGraphRows);
    dp_ = std::make_unique<DataParallel<TwoNormsImpl>>(
        many_, parallel::DataParallelOptions{.devices = test_devices(kGraphDevices)});
  }
  ~FailedBackwardTest() override { TwoNormsImpl::on_gradient = nullptr; }

  at::Tensor loss() { return torch::mse_loss((*dp_)(batch_.x), batch_.y); }
  /// The next call and its backward are those of one device.
  void expect_right_call() {
    one_->zero_grad();
    many_->zero_grad();
    torch::mse_loss(one_->forward(batch_.x), batch_.y).backward();
    loss().backward();
    EXPECT_LE(gradient_difference(*one_, *many_), 1e-12);
  }
  /// Fails in the piece of work that `left` counts down to.
  static WorkFault fault(std::atomic<int>& left) {
    return [&left](const Work&, Device) {
      if (left.fetch_sub(1) == 1) throw GraphFault();
    };
  }

  /// Fails in every `step`th piece of work of the backward of what `make` returns, each time once.
  template <class Make>
  void fail_in_each_piece_of_work(int step, const Make& make) {
    expect_right_call();
    std::atomic<int> left{0};
    int points = 0;
    Clock::duration spent{};
    for (bool failed = true; failed && points < kMostWorks; points += failed ? step : 0) {
      const std::string point = "work " + std::to_string(points + 1);
      const at::Tensor failing = make();
      left = points + 1;
      {
        const WorkFaultScope scope(fault(left));
        const auto begin = Clock::now();
        try {
          failing.backward();
          failed = false;
        } catch (const GraphFault&) {
        }
        const auto took = Clock::now() - begin;
        EXPECT_LT(took, std::chrono::seconds(1)) << point;
        spent += took;
      }
      expect_right_call();
    }
    EXPECT_GT(points, kFewestWorks);
    // On average: those that wait for the cause do not wait longer than it takes.
    EXPECT_LT(spent * step / points, std::chrono::milliseconds(100));
  }

  TwoNorms one_{nullptr}, many_{nullptr};
  Batch batch_;
  std::unique_ptr<DataParallel<TwoNormsImpl>> dp_;
};

/// Runs `f`, which throws an E within a second.
template <class E, class F>
void expect_soon(const F& f, const std::string& point) {
  const auto begin = Clock::now();
  EXPECT_THROW(f(), E) << point;
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(1)) << point;
}

TEST_F(FailedBackwardTest, AHookOnEachDevice) {
  for (int bad = 0; bad < kGraphDevices; ++bad) {
    TwoNormsImpl::on_gradient = [bad](const at::Tensor& x) {
      if (x.device().index() != bad) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(30));  // until the others wait
      throw GraphFault();
    };
    const at::Tensor failing = loss();
    TwoNormsImpl::on_gradient = nullptr;
    const at::Tensor another = loss();
    expect_soon<GraphFault>([&] { failing.backward(); }, std::to_string(bad));
    many_->zero_grad();
    another.backward();  // no call has come between
    one_->zero_grad();
    torch::mse_loss(one_->forward(batch_.x), batch_.y).backward();
    EXPECT_LE(gradient_difference(*one_, *many_), 1e-12);
    expect_right_call();
  }
}

/// Holds up the thread that has failed when it gives memory back, before its error is told.
class LateFailure final : public Observer {
 public:
  [[noreturn]] static void fail() {
    is_here_ = true;
    throw GraphFault();
  }
  void on_memory(const MemoryEvent& event) noexcept override {
    if (event.kind != MemoryEvent::Kind::free || !std::exchange(is_here_, false)) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    ++count_;
  }
  int count() const { return count_; }

 private:
  static thread_local inline bool is_here_ = false;
  std::atomic<int> count_{0};
};

// The group tells the other replicas of a failure before PyTorch's engine hears of it.
TEST_F(FailedBackwardTest, TheCauseIsToldThoughOthersFailBeforeIt) {
  for (int bad = 0; bad < kGraphDevices; ++bad) {
    const at::Tensor failing = loss();
    {
      LateFailure observer;
      const Subscription subscription(observer);
      std::atomic<bool> has_failed{false};
      const WorkFaultScope scope([&](const Work& work, Device device) {
        if (device.index != bad || work.name != std::string_view("all_reduce")) return;
        if (!has_failed.exchange(true)) LateFailure::fail();
      });
      expect_soon<GraphFault>([&] { failing.backward(); }, std::to_string(bad));
      EXPECT_EQ(observer.count(), 1);
    }
    expect_right_call();
  }
}

TEST_F(FailedBackwardTest, EachPieceOfWork) {
  fail_in_each_piece_of_work(1, [&] { return loss(); });
}

// Until the replicas have agreed that the call takes effect.
TEST_F(FailedBackwardTest, EachPieceOfWorkOfForward) {
  expect_right_call();
  std::atomic<int> left{0};
  int points = 0;
  for (bool agreed = false; !agreed && points < kMostWorks;) {
    const std::string point = "work " + std::to_string(points + 1);
    left = points + 1;
    {
      const WorkFaultScope scope(fault(left));
      const auto begin = Clock::now();
      try {
        (*dp_)(batch_.x);
        FAIL() << point << ": nothing has failed";
      } catch (const parallel::ReplicaError& e) {
        EXPECT_NE(find_cause<GraphFault>(e), nullptr) << point << ": " << e.what();
        ++points;
      } catch (const GraphFault&) {
        agreed = true;
      }
      EXPECT_LT(Clock::now() - begin, std::chrono::seconds(1)) << point;
    }
    if (!agreed) expect_right_call();
  }
  EXPECT_GT(points, kFewestWorks);
}

TEST_F(FailedBackwardTest, EachPieceOfWorkOfASecondBackward) {
  expect_right_call();
  const auto penalty = [&] {
    const at::Tensor x = batch_.x.detach().requires_grad_();
    const at::Tensor y = (*dp_)(x);
    return torch::autograd::grad({y.square().sum()}, {x}, {}, true, true)[0].square().sum();
  };
  fail_in_each_piece_of_work(3, penalty);
}

void await(const std::atomic<bool>& flag) {
  const auto end = Clock::now() + std::chrono::seconds(20);
  while (!flag && Clock::now() < end)
    std::this_thread::yield();
}

// PyTorch tells the caller of an error while other devices are still in the backward, if the
// caller's thread happens to run a node of the host.
TEST_F(FailedBackwardTest, TheNextCallWaitsForReplicasThatAreStillInIt) {
  expect_right_call();
  std::atomic<bool> comes{false}, sleeps{false}, has_left{false};
  TwoNormsImpl::on_gradient = [&](const at::Tensor& x) {
    if (x.device().index() == 0) comes = true;
    if (x.device().index() != 1) return;
    await(sleeps);  // until device 0 is in its batch norm
    throw GraphFault();
  };
  at::Tensor on_host = torch::ones({1}, torch::kDouble).requires_grad_() * 2;
  on_host.register_hook([&](const at::Tensor&) {
    await(sleeps);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  });
  const at::Tensor failing = loss() + on_host.sum();
  TwoNormsImpl::on_gradient = nullptr;
  const WorkFaultScope scope([&](const Work& work, Device device) {
    if (device.index != 0 || work.name != std::string_view("all_reduce_sum")) return;
    if (!comes || sleeps.exchange(true)) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    has_left = true;
  });
  expect_soon<GraphFault>([&] { failing.backward(); }, "backward");
  EXPECT_TRUE(sleeps);
  EXPECT_FALSE(has_left);  // the case that this test is about
  expect_right_call();
  EXPECT_TRUE(has_left);
}

TEST(ReplicaScopeTest, OneThatCannotBeginLeavesNothingBehind) {
  register_test_devices();
  TwoNorms net, copy;
  const Device device = test_device(1);
  const auto source = std::make_shared<TorchSource>(
      net.ptr(),
      copy.ptr(),
      device,
      TorchSource::Ops{BatchNorms(*copy,
                                  std::vector<BatchNormSync>(2, BatchNormSync::synchronised),
                                  BatchNormSync::synchronised),
                       DropoutMask::per_device,
                       std::make_shared<BackwardMeetings>()});
  Transits& transits = source->slots().front().shown.buffer().transits();
  transits.add(
      {.begin = 0, .end = 1, .wait = [] { throw CommAborted("the parameters do not come"); }});
  const CallerState caller;
  EXPECT_THAT(thrown_text<CommAborted>([&] { const ReplicaScope scope(source, caller); }),
              HasSubstr("do not come"));
  EXPECT_EQ(ReplicaScope::find(), nullptr);
  EXPECT_TRUE(copy->first->is_training());
  transits.clear();
  {
    const ReplicaScope scope(source, caller);
    EXPECT_EQ(ReplicaScope::find(), &scope);
    EXPECT_FALSE(copy->first->is_training());
  }
  EXPECT_TRUE(copy->first->is_training());
}

}  // namespace
}  // namespace tandem::libtorch::test
