// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// What changes after wrapping is followed; what fails changes nothing; what is wrong is refused.

#include <sstream>
#include <stdexcept>

#include <gmock/gmock.h>

#include "tandem/libtorch/devices.hpp"
#include "tandem/libtorch/optimizer.hpp"
#include "tandem/parallel/replica_error.hpp"
#include "tandem/runtime/runtime.hpp"

#include "libtorch/models.hpp"
#include "libtorch/test_devices.hpp"
#include "thrown_text.hpp"

namespace tandem::libtorch::test {
namespace {

using parallel::Mode;
using tandem::testing::thrown_text;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::int64_t kFollowRows = 9;

TEST(FollowTest, TensorsThatWereReplaced) {
  torch::manual_seed(0);
  auto [one, many] = twins<Mlp>();
  DataParallel dp(many, {.devices = test_devices(2)});
  Optimizer<torch::optim::Adam> shared(many->parameters(),
                                       torch::optim::AdamOptions(0.01).eps(0.1));
  torch::optim::Adam optimizer(one->parameters(), torch::optim::AdamOptions(0.01).eps(0.1));
  for (int step = 0; step < 6; ++step) {
    if (step == 2) {  // a copy in other memory
      for (auto* net : {&one, &many})
        (*net)->first->weight.set_data((*net)->first->weight.detach().clone() * 2);
    }
    if (step == 4) {  // another precision, and back
      for (auto* net : {&one, &many}) {
        (*net)->to(torch::kFloat);
        (*net)->to(torch::kDouble);
      }
    }
    const Batch batch = MlpImpl::batch(kFollowRows);
    optimizer.zero_grad();
    squared_error(*one, batch).backward();
    optimizer.step();
    dp.step(batch, squared_error, shared);
    EXPECT_LE(difference(*one, *many), 1e-12) << step;
  }
}

TEST(FollowTest, TheModeOfEachPart) {
  struct NetImpl : torch::nn::Module {
    at::Tensor forward(const at::Tensor& x) { return drop(linear(x)); }
    torch::nn::Linear linear = register_module("linear", torch::nn::Linear(3, 3));
    torch::nn::Dropout drop = register_module("drop", torch::nn::Dropout(0.5));
  };
  auto net = std::make_shared<NetImpl>();
  DataParallel dp(net, {.devices = test_devices(2)});
  EXPECT_TRUE(dp.replica(1).drop->is_training());
  net->drop->eval();
  EXPECT_FALSE(dp.replica(1).drop->is_training());
  EXPECT_TRUE(dp.replica(1).is_training());
  EXPECT_FALSE(dp.replica(0).drop->is_training());
}

TEST(FailureTest, ChangesNothing) {
  torch::manual_seed(0);
  auto [before, net] = twins<Mlp>();
  DataParallel dp(net, {.devices = test_devices(3)});
  Optimizer<torch::optim::SGD> optimizer(net->parameters(),
                                         torch::optim::SGDOptions(0.1).momentum(0.9));
  const Batch batch = MlpImpl::batch(kFollowRows);
  dp.step(batch, squared_error, optimizer);
  {
    const torch::NoGradGuard off;
    const auto from = net->parameters(), to = before->parameters();
    for (std::size_t i = 0; i < from.size(); ++i)
      to[i].copy_(from[i]);
  }
  std::stringstream state;
  torch::save(optimizer, state);
  const at::Tensor numbers =
      torch::rand({3}, torch::TensorOptions().device(torch_device(test_device(0))));
  torch::manual_seed(5);
  const at::Tensor expected =
      torch::rand({3}, torch::TensorOptions().device(torch_device(test_device(0)))).cpu();
  torch::manual_seed(5);
  try {
    dp.step(
        batch,
        [](MlpImpl& replica, const Batch& part) {
          if (part.x.device().index() == 1) throw std::runtime_error("no luck");
          return squared_error(replica, part);
        },
        optimizer);
    ADD_FAILURE() << "not thrown";
  } catch (const parallel::ReplicaError& e) {
    EXPECT_EQ(e.replica, 1);
    EXPECT_EQ(e.rows, (RowRange{3, 6}));
    EXPECT_EQ(e.phase, Phase::forward);
    EXPECT_THAT(e.what(), HasSubstr("no luck"));
  }
  EXPECT_EQ(difference(*before, *net), 0);
  std::stringstream again;
  torch::save(optimizer, again);
  EXPECT_EQ(state.str(), again.str());
  EXPECT_TRUE(torch::equal(
      torch::rand({3}, torch::TensorOptions().device(torch_device(test_device(0)))).cpu(),
      expected));
}

TEST(FailureTest, OutOfMemoryNamesItsOwnersAndIsReplanned) {
  torch::nn::Sequential net(
      torch::nn::Linear(64, 2048), torch::nn::ReLU(), torch::nn::Linear(2048, 1));
  const auto devices = configure_devices("cpu:1@64MiB,cpu:1@8MiB");
  const auto loss = [](auto& replica, const at::Tensor& x) { return replica.forward(x).mean(); };
  const at::Tensor x = torch::randn({1024, 64});
  {
    DataParallel dp(net, {.devices = devices});
    EXPECT_THAT(thrown_text<parallel::ReplicaError>([&] { dp.step(x, loss); }),
                HasSubstr(to_string(test_device(1))));
  }
  DataParallel dp(net, {.devices = devices, .on_oom = parallel::OnOutOfMemory::replan});
  const auto result = dp.step(x, loss);
  EXPECT_GT(result.rows[0], result.rows[1]);
  EXPECT_EQ(result.rows[0] + result.rows[1], 1024);
  configure_devices("cpu:8");
}

TEST(RefusedTest, AModuleThatCannotBeCopied) {
  struct SizedImpl : torch::nn::Module {
    explicit SizedImpl(int n) : linear(register_module("linear", torch::nn::Linear(n, n))) {}
    at::Tensor forward(const at::Tensor& x) { return linear(x); }
    torch::nn::Linear linear;
  };
  const auto net = std::make_shared<SizedImpl>(4);
  EXPECT_THAT(thrown_text([&] { DataParallel(net, {.devices = test_devices(2)}); }),
              AllOf(HasSubstr("Cloneable"), HasSubstr(".make")));
  EXPECT_THAT(thrown_text([&] {
                DataParallel(
                    net, {.devices = test_devices(2)}, ModuleOptions<SizedImpl>{.make = [] {
                      return std::make_shared<SizedImpl>(5);
                    }});
              }),
              HasSubstr("'linear.weight'"));
  DataParallel dp(net, {.devices = test_devices(2)}, ModuleOptions<SizedImpl>{.make = [] {
                    return std::make_shared<SizedImpl>(4);
                  }});
  EXPECT_GT(dp.step(torch::ones({4, 4}),
                    [](SizedImpl& replica, const at::Tensor& x) {
                      return replica.forward(x).square().mean();
                    })
                .loss,
            0);
}

TEST(RefusedTest, LossesAndOptimizersThatDoNotFit) {
  Mlp net, other;
  DataParallel dp(net, {.devices = test_devices(2)});
  const Batch batch{torch::ones({4, 6}), torch::ones({4, 3})};
  const auto step = [&](auto loss) {
    return thrown_text<parallel::ReplicaError>([&] { dp.step(batch, loss); });
  };
  EXPECT_THAT(step([](MlpImpl& m, const Batch& b) { return m.forward(b.x); }),
              HasSubstr("the loss must be a scalar"));
  EXPECT_THAT(step([](MlpImpl& m, const Batch& b) { return m.forward(b.x).sum().cpu(); }),
              HasSubstr("the loss is on cpu, but the replica is on " +
                        c10::DeviceTypeName(torch_type(), true) + ":"));
  EXPECT_THAT(step([](MlpImpl& m, const Batch& b) { return m.forward(b.x).sum().detach(); }),
              HasSubstr("no graph"));
  EXPECT_THAT(thrown_text([&] {
                dp.step(Batch{batch.x, torch::ones({5, 3})}, squared_error);
              }),
              AllOf(HasSubstr("4"), HasSubstr("5")));
  Optimizer<torch::optim::SGD> of_other(other->parameters(), torch::optim::SGDOptions(0.1));
  EXPECT_THAT(thrown_text([&] { dp.step(batch, squared_error, of_other); }),
              HasSubstr("is not one of the wrapped module's"));
  Optimizer<torch::optim::Adam> amsgrad(net->parameters(),
                                        torch::optim::AdamOptions().amsgrad(true));
  EXPECT_THAT(thrown_text([&] { dp.step(batch, squared_error, amsgrad); }), HasSubstr("amsgrad"));
}

}  // namespace
}  // namespace tandem::libtorch::test
