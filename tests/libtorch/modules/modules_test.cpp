// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Kinds of modules, and ways to copy them: each trained by both ways, against one device.

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tandem/libtorch/devices.hpp"
#include "tandem/libtorch/optimizer.hpp"

#include "libtorch/models.hpp"
#include "libtorch/test_devices.hpp"
#include "thrown_text.hpp"

namespace tandem::libtorch::test {
namespace {

using tandem::testing::thrown_text;
using ::testing::AllOf;
using ::testing::HasSubstr;
namespace nn = torch::nn;

constexpr std::int64_t kModuleRows = 10;

Batch make_batch() {
  return {torch::randn({kModuleRows, 6}, torch::kDouble),
          torch::randn({kModuleRows, 3}, torch::kDouble)};
}

/// A module's parameters, a tied one once: an optimizer would update it as often as it is listed.
std::vector<at::Tensor> distinct_parameters(const nn::Module& module) {
  std::vector<at::Tensor> all;
  for (const at::Tensor& p : module.parameters()) {
    if (std::ranges::none_of(all, [&](const at::Tensor& x) { return x.is_same(p); }))
      all.push_back(p);
  }
  return all;
}

/// Trains `many` on three devices and `one` on one, by steps and over gathered outputs in turn.
/// Both are in f64 and have the same values.
template <class M>
void expect_equal_training(const std::shared_ptr<M>& one,
                           const std::shared_ptr<M>& many,
                           ModuleOptions<M> options = {}) {
  DataParallel<M> dp(
      many, {.devices = test_devices(3), .chunk_sizes = {2, 5, 3}}, std::move(options));
  const auto sgd = torch::optim::SGDOptions(0.1).momentum(0.9);
  torch::optim::SGD first(distinct_parameters(*one), sgd);
  Optimizer<torch::optim::SGD> second(distinct_parameters(*many), sgd);
  for (int step = 0; step < 6; ++step) {
    const Batch batch = make_batch();
    first.zero_grad();
    const at::Tensor loss = squared_error(*one, batch);
    loss.backward();
    first.step();
    if (step % 2 == 0) {
      EXPECT_NEAR(dp.step(batch, squared_error, second).loss, loss.template item<double>(), 1e-12);
    } else {
      second.zero_grad();
      torch::mse_loss(dp(batch.x), batch.y).backward();
      EXPECT_LE(gradient_difference(*one, *many), 1e-12) << step;
      second.step();
    }
    EXPECT_LE(difference(*one, *many), 1e-12) << step;
    EXPECT_LE(buffer_difference(*one, *many), 1e-12) << step;
  }
}

class ModulesTest : public ::testing::Test {
 protected:
  ModulesTest() {
    register_test_devices();
    torch::manual_seed(2);
  }
};

TEST_F(ModulesTest, Sequential) {
  const auto [one, many] = twins_of([] {
    return nn::Sequential(nn::Linear(6, 8), nn::BatchNorm1d(8), nn::Tanh(), nn::Linear(8, 3)).ptr();
  });
  expect_equal_training(one, many);
}

TEST_F(ModulesTest, SequentialOfNamedModules) {
  const auto [one, many] = twins_of([] {
    return nn::Sequential(
               {{"in", nn::Linear(6, 8)}, {"act", nn::GELU()}, {"head", nn::Linear(8, 3)}})
        .ptr();
  });
  EXPECT_TRUE(many->named_parameters().contains("head.weight"));
  expect_equal_training(one, many);
}

TEST_F(ModulesTest, SequentialOfAnyModules) {
  const auto [one, many] = twins_of([] {
    nn::Sequential net;
    net->push_back(nn::AnyModule(nn::Linear(6, 8)));
    net->push_back(nn::AnyModule(nn::SiLU()));
    net->push_back(nn::AnyModule(nn::Linear(8, 3)));
    return net.ptr();
  });
  expect_equal_training(one, many);
}

/// Runs whatever it holds.
struct AnyNetImpl : nn::Cloneable<AnyNetImpl> {
  AnyNetImpl() { reset(); }
  void reset() override {
    body = nn::AnyModule(nn::Linear(6, 5));
    register_module("body", body.ptr());
    head = register_module("head", nn::Linear(5, 3));
  }
  at::Tensor forward(const at::Tensor& x) { return head(torch::tanh(body.forward(x))); }
  nn::AnyModule body;
  nn::Linear head = nullptr;
};

TEST_F(ModulesTest, AnyModuleAsAMember) {
  const auto [one, many] = twins_of([] { return std::make_shared<AnyNetImpl>(); });
  expect_equal_training(one, many);
}

/// Layers in a ModuleList and a ModuleDict.
struct ListedImpl : nn::Module {
  at::Tensor forward(const at::Tensor& x) {
    at::Tensor h = x;
    for (const auto& layer : *list)
      h = torch::tanh(layer->as<nn::Linear>()->forward(h));
    return dict["head"]->as<nn::Linear>()->forward(h);
  }
  nn::ModuleList list = register_module("list", nn::ModuleList(nn::Linear(6, 7), nn::Linear(7, 7)));
  nn::ModuleDict dict = register_module(
      "dict",
      nn::ModuleDict(std::vector<std::pair<std::string, std::shared_ptr<nn::Module>>>{
          {"head", nn::Linear(7, 3).ptr()}}));
};

TEST_F(ModulesTest, ModuleListAndModuleDict) {
  const auto [one, many] = twins_of([] { return std::make_shared<ListedImpl>(); });
  expect_equal_training(one, many);
}

TEST_F(ModulesTest, AModuleWithoutForwardIsTrainedByTheLoss) {
  const auto make = [] { return nn::ModuleList(nn::Linear(6, 7), nn::Linear(7, 3)).ptr(); };
  const auto [one, many] = twins_of(make);
  const auto loss = [](nn::ModuleListImpl& net, const Batch& batch) {
    const at::Tensor h = torch::tanh(net[0]->as<nn::Linear>()->forward(batch.x));
    return torch::mse_loss(net[1]->as<nn::Linear>()->forward(h), batch.y);
  };
  DataParallel dp(many, {.devices = test_devices(3)});
  const Batch batch = make_batch();
  loss(*one, batch).backward();
  dp.step(batch, loss);
  EXPECT_LE(gradient_difference(*one, *many), 1e-12);
}

/// The rows of an embedding are also the weights of the layer before the last; a parameter is used
/// by no forward, and another one is frozen.
struct TiedAndFrozenImpl : nn::Module {
  TiedAndFrozenImpl() {
    second->weight = first->weight;
    second->unregister();
    second->register_parameter("weight", first->weight);
    frozen->weight.set_requires_grad(false);
  }
  /// A layer whose parameter may be taken out.
  struct LayerImpl : nn::Module {
    LayerImpl() : weight(register_parameter("weight", torch::randn({6, 6}) * 0.3)) {}
    void unregister() { parameters_.erase("weight"); }
    at::Tensor forward(const at::Tensor& x) { return torch::tanh(x.matmul(weight)); }
    at::Tensor weight;
  };
  at::Tensor forward(const at::Tensor& x) {
    return head(frozen->forward(second->forward(first->forward(x))));
  }
  std::shared_ptr<LayerImpl> first = register_module("first", std::make_shared<LayerImpl>());
  std::shared_ptr<LayerImpl> second = register_module("second", std::make_shared<LayerImpl>());
  std::shared_ptr<LayerImpl> frozen = register_module("frozen", std::make_shared<LayerImpl>());
  nn::Linear head = register_module("head", nn::Linear(6, 3));
  at::Tensor unused = register_parameter("unused", torch::ones({4}));
};

TEST_F(ModulesTest, TiedFrozenAndUnusedParameters) {
  const auto [one, many] = twins_of([] { return std::make_shared<TiedAndFrozenImpl>(); });
  // PyTorch's to() gives tied parameters tensors of their own data, but leaves them one tensor.
  ASSERT_TRUE(many->first->weight.is_same(many->second->weight));
  const at::Tensor before = many->frozen->weight.clone();
  expect_equal_training(one, many);
  Optimizer<torch::optim::SGD> twice(many->parameters(), 0.1);
  DataParallel dp(many, {.devices = test_devices(2)});
  EXPECT_THAT(thrown_text([&] { dp.step(make_batch(), squared_error, twice); }),
              AllOf(HasSubstr("'first.weight' is listed twice"), HasSubstr("list a tied")));
  EXPECT_TRUE(many->first->weight.is_same(many->second->weight));
  EXPECT_TRUE(torch::equal(many->frozen->weight.cpu(), before));
  EXPECT_FALSE(many->frozen->weight.grad().defined());
  EXPECT_FALSE(many->unused.grad().defined());
}

/// The same as a Cloneable module has it: its reset() ties them in each copy.
struct TiedCloneableImpl : nn::Cloneable<TiedCloneableImpl> {
  TiedCloneableImpl() { TiedCloneableImpl::reset(); }
  void reset() override {
    weight = register_parameter("weight", torch::randn({6, 6}, torch::kDouble) * 0.3);
    again = register_parameter("again", weight);
    head = register_module("head", nn::Linear(6, 3));
    head->to(torch::kDouble);
  }
  at::Tensor forward(const at::Tensor& x) {
    return head(torch::tanh(torch::tanh(x.matmul(weight)).matmul(again.t())));
  }
  at::Tensor weight, again;
  nn::Linear head{nullptr};
};

TEST_F(ModulesTest, TiedParametersOfACloneableModule) {
  const auto many = std::make_shared<TiedCloneableImpl>(),
             one = std::make_shared<TiedCloneableImpl>();
  {
    const torch::NoGradGuard off;
    for (std::size_t p = 0; p < many->parameters().size(); ++p)
      one->parameters()[p].copy_(many->parameters()[p]);
  }
  expect_equal_training(one, many);
  EXPECT_TRUE(many->weight.is_same(many->again));
}

/// A module that needs a size, and so neither a clone() nor a constructor without arguments.
struct SizedNetImpl : nn::Module {
  explicit SizedNetImpl(int width)
      : first(register_module("first", nn::Linear(6, width))),
        second(register_module("second", nn::Linear(width, 3))) {}
  at::Tensor forward(const at::Tensor& x) { return second(torch::relu(first(x))); }
  nn::Linear first, second;
};

TEST_F(ModulesTest, MadeByTheProgram) {
  const auto make = [] { return std::make_shared<SizedNetImpl>(9); };
  const auto [one, many] = twins_of(make);
  expect_equal_training(one, many, {.make = make});
}

TEST_F(ModulesTest, ASequentialOfModulesThatCannotBeClonedNeedsMake) {
  const auto make = [] {
    return nn::Sequential(std::make_shared<SizedNetImpl>(4), nn::Linear(3, 3)).ptr();
  };
  const auto [one, many] = twins_of(make);
  EXPECT_THAT(thrown_text([&net = many] { DataParallel(net, {.devices = test_devices(2)}); }),
              AllOf(HasSubstr("Sequential"), HasSubstr("a part of it is not"), HasSubstr(".make")));
  expect_equal_training(one, many, {.make = make});
}

TEST_F(ModulesTest, WithoutParameters) {
  nn::Sequential net(nn::Tanh(), nn::Softmax(1));
  DataParallel dp(net, {.devices = test_devices(3)});
  const at::Tensor x = torch::randn({7, 4}, torch::kDouble).requires_grad_();
  const at::Tensor y = dp(x), expected = net->forward(x);
  EXPECT_LE((y - expected).abs().max().item<double>(), 1e-15);
  const auto slope = [&](const at::Tensor& out) {
    return torch::autograd::grad({out.square().sum()}, {x})[0];
  };
  EXPECT_LE((slope(y) - slope(expected)).abs().max().item<double>(), 1e-15);
}

}  // namespace
}  // namespace tandem::libtorch::test
