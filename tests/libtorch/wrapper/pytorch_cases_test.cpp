// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// What the cases of PyTorch's test_data_parallel.py mean for C++ programs, written from the
// meaning. tests/libtorch/acceptance/manifest.toml says which case is which test.

#include <map>
#include <optional>
#include <string>
#include <tuple>

#include <ATen/autocast_mode.h>
#include <gmock/gmock.h>

#include "tandem/libtorch/devices.hpp"
#include "tandem/libtorch/functional.hpp"
#include "tandem/runtime/runtime.hpp"

#include "libtorch/models.hpp"
#include "libtorch/test_devices.hpp"
#include "thrown_text.hpp"

namespace tandem::libtorch::test {
namespace {

using tandem::testing::thrown_text;
using ::testing::AllOf;
using ::testing::HasSubstr;
using TensorMap = std::map<std::string, at::Tensor>;

class PytorchCasesTest : public ::testing::Test {
 protected:
  PytorchCasesTest() {
    register_test_devices();
    torch::manual_seed(0);
  }
  const parallel::DataParallelOptions two_{.devices = test_devices(2)};
};

double farthest(const at::Tensor& x, const at::Tensor& y) {
  EXPECT_EQ(x.sizes(), y.sizes());
  return (x.detach().cpu() - y.detach().cpu()).abs().max().item<double>();
}

class PytorchDtypeTest : public PytorchCasesTest,
                         public ::testing::WithParamInterface<at::ScalarType> {};

TEST_P(PytorchDtypeTest, AModuleOfAnyFloatGivesWhatItGivesAlone) {
  const c10::Device first = torch_device(test_device(0));
  torch::nn::Linear net(10, 5);
  net->to(first, GetParam());
  const at::Tensor x = torch::randn({20, 10}).to(first, GetParam());
  const at::Tensor y = DataParallel(net, two_)(x);
  EXPECT_EQ(y.device(), first);
  EXPECT_EQ(y.scalar_type(), GetParam());
  EXPECT_LE(farthest(y, net->forward(x)), GetParam() == at::kHalf ? 1e-2 : 1e-5);
}

/// Fields stand for named arguments; the containers may be empty.
struct Named {
  at::Tensor data;
  std::vector<at::Tensor> list = {};
  TensorMap dict = {};
  std::tuple<> tuple = {};
  TANDEM_FIELDS(data, list, dict)
};

TEST_P(PytorchDtypeTest, NamedArgumentsMayHoldEmptyContainers) {
  struct NetImpl : torch::nn::Module {
    at::Tensor forward(const Named& in) {
      EXPECT_TRUE(in.list.empty() && in.dict.empty());
      return linear(in.data);
    }
    torch::nn::Linear linear = register_module("linear", torch::nn::Linear(10, 5));
  };
  const auto net = std::make_shared<NetImpl>();
  net->to(GetParam());
  const Named in{.data = torch::randn({20, 10}).to(GetParam())};
  const at::Tensor expected = net->forward(in), y = DataParallel(net, two_)(in);
  EXPECT_LE(farthest(y, expected), GetParam() == at::kHalf ? 1e-2 : 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Floats,
                         PytorchDtypeTest,
                         ::testing::Values(at::kFloat, at::kDouble, at::kHalf),
                         [](const auto& test) { return std::string(at::toString(test.param)); });

TEST_F(PytorchCasesTest, SeveralInputsANumberAndOneThatMayBeMissing) {
  struct NetImpl : torch::nn::Module {
    at::Tensor forward(const at::Tensor& a,
                       const at::Tensor& b,
                       double factor,
                       const std::optional<at::Tensor>& c) {
      return factor * (c ? a * b + *c : a * b);
    }
  };
  const auto net = std::make_shared<NetImpl>();
  const at::Tensor a = torch::randn({5, 5}).requires_grad_(),
                   b = torch::randn({5, 5}).requires_grad_();
  for (const auto& c : {std::optional<at::Tensor>(), std::optional(torch::randn({5, 5}))}) {
    const at::Tensor expected = net->forward(a, b, 0.7, c);
    const auto gradients = torch::autograd::grad({expected.sum()}, {a, b});
    for (const std::vector<Device>& devices :
         {test_devices(2), std::vector<Device>{test_device(1), test_device(0)}, test_devices(1)}) {
      parallel::DataParallelOptions options = two_;
      options.devices = devices;
      const at::Tensor y = DataParallel(net, options)(a, b, 0.7, c);
      EXPECT_LE(farthest(y, expected), 1e-6);
      const auto found = torch::autograd::grad({y.sum()}, {a, b});
      EXPECT_LE(farthest(found[0], gradients[0]), 1e-6);
      EXPECT_LE(farthest(found[1], gradients[1]), 1e-6);
    }
  }
}

TEST_F(PytorchCasesTest, NestsOfSequencesKeepTheirTypes) {
  using Inner = std::tuple<at::Tensor, at::Tensor, std::vector<at::Tensor>>;
  using Output = std::tuple<at::Tensor, Inner, std::map<std::string, std::vector<at::Tensor>>>;
  struct NetImpl : torch::nn::Module {
    Output forward(const std::tuple<at::Tensor, std::pair<at::Tensor, at::Tensor>>& in) {
      const at::Tensor x = std::get<1>(in).first;
      return {x, {x.sin(), x.cos(), {x + 1}}, {{"a", {x}}, {"b", {x.sin()}}}};
    }
  };
  const auto net = std::make_shared<NetImpl>();
  const at::Tensor x = torch::randn({20, 3}).to(torch_device(test_device(1)));
  const std::tuple in(x.cos(), std::pair(x.sin(), x));
  const Output y = data_parallel(net, in, test_devices(2)), expected = net->forward(in);
  EXPECT_LE(farthest(std::get<0>(y), std::get<0>(expected)), 0);
  const auto& [sine, cosine, list] = std::get<1>(y);
  EXPECT_LE(farthest(sine, std::get<0>(std::get<1>(expected))), 1e-6);
  EXPECT_LE(farthest(cosine, std::get<1>(std::get<1>(expected))), 1e-6);
  ASSERT_EQ(list.size(), 1u);
  EXPECT_LE(farthest(list[0], x.sin() + 1), 1e-6);
  ASSERT_EQ(std::get<2>(y).size(), 2u);
  EXPECT_LE(farthest(std::get<2>(y).at("b")[0], x.sin().sin()), 1e-6);
}

TEST_F(PytorchCasesTest, AModuleWithoutInputsRunsOnce) {
  struct NetImpl : torch::nn::Module {
    at::Tensor forward() {
      ++*runs;
      return torch::eye(2, at::TensorOptions().device(torch_device(test_device(0)))) * 3;
    }
    std::shared_ptr<int> runs = std::make_shared<int>(0);
  };
  const auto net = std::make_shared<NetImpl>();
  for (const int devices : {1, 2}) {
    parallel::DataParallelOptions options = two_;
    options.devices = test_devices(devices);
    options.output_device = test_device(0);
    DataParallel dp(net, options);
    const at::Tensor y = dp();
    EXPECT_EQ(y.device(), torch_device(test_device(0)));
    EXPECT_LE(farthest(y, torch::eye(2) * 3), 0);
    EXPECT_EQ(*dp.replica(0).runs, 1);
  }
}

TEST_F(PytorchCasesTest, AModuleOnAnotherDeviceIsRefusedByName) {
  const auto first = torch_device(test_device(0)), second = torch_device(test_device(1));
  const auto forward = [](const torch::nn::Sequential& net, const std::vector<Device>& devices) {
    data_parallel(net, torch::ones({2, 2}), devices);
  };
  const std::vector<Device> forth = test_devices(2), back{forth[1], forth[0]};
  torch::nn::Sequential net(torch::nn::Linear(2, 2), torch::nn::Linear(2, 2));
  net->to(second);
  EXPECT_THAT(thrown_text([&] { forward(net, forth); }),
              AllOf(HasSubstr("'0.weight' is on " + second.str() + ", but the first device is " +
                              to_string(forth[0])),
                    HasSubstr("move all of it to")));
  EXPECT_NO_THROW(forward(net, back));
  net->to(first);
  EXPECT_NO_THROW(forward(net, forth));
  EXPECT_THAT(thrown_text([&] { forward(net, back); }),
              HasSubstr("the first device is " + to_string(forth[1])));
  net->at<torch::nn::LinearImpl>(1).to(second);
  EXPECT_THAT(thrown_text([&] { forward(net, forth); }),
              HasSubstr("'1.weight' is on " + second.str()));
}

TEST_F(PytorchCasesTest, ARecurrentNetworkTrainsAsAlone) {
  struct NetImpl : torch::nn::Module {
    std::tuple<at::Tensor, std::tuple<at::Tensor, at::Tensor>> forward(const at::Tensor& x) {
      rnn->flatten_parameters();
      return rnn(x);
    }
    torch::nn::LSTM rnn = register_module(
        "rnn", torch::nn::LSTM(torch::nn::LSTMOptions(6, 9).batch_first(true).bidirectional(true)));
  };
  const auto one = std::make_shared<NetImpl>(), many = std::make_shared<NetImpl>();
  {
    const torch::NoGradGuard off;
    const auto from = one->parameters(), to = many->parameters();
    for (std::size_t i = 0; i < from.size(); ++i)
      to[i].copy_(from[i]);
  }
  DataParallel dp(many, two_);
  {
    const torch::NoGradGuard off;
    EXPECT_NO_THROW(dp(torch::rand({2, 4, 6})));
  }
  torch::optim::SGD first(one->parameters(), 10), second(many->parameters(), 10);
  const at::Tensor x = torch::randn({4, 4, 6});
  std::get<0>(one->forward(x)).square().mean().backward();
  std::get<0>(dp(x)).square().mean().backward();
  first.step();
  second.step();
  EXPECT_GT(many->rnn->all_weights()[0].grad().abs().max().item<double>(), 0);
  EXPECT_LE(difference(*one, *many), 1e-6);
}

TEST_F(PytorchCasesTest, GradModeIsTheCallersInEveryReplica) {
  struct NetImpl : torch::nn::Module {
    at::Tensor forward(const at::Tensor& x) {
      return torch::full({x.size(0)}, c10::GradMode::is_enabled() ? 1 : 0);
    }
  };
  const auto net = std::make_shared<NetImpl>();
  const at::Tensor x = torch::randn({20, 10});
  EXPECT_EQ(data_parallel(net, x, test_devices(2)).sum().item<int>(), 20);
  const torch::NoGradGuard off;
  EXPECT_EQ(data_parallel(net, x, test_devices(2)).sum().item<int>(), 0);
}

TEST_F(PytorchCasesTest, AReplicaThatTurnsAutocastOnComputesIn16Bits) {
  struct NetImpl : torch::nn::Module {
    at::Tensor forward(const at::Tensor& x) {
      at::autocast::set_autocast_dtype(torch_type(), at::kBFloat16);
      at::autocast::set_autocast_enabled(torch_type(), true);
      const at::Tensor y = linear(x);
      at::autocast::set_autocast_enabled(torch_type(), false);
      return y;
    }
    torch::nn::Linear linear = register_module("linear", torch::nn::Linear(8, 8));
  };
  const auto net = std::make_shared<NetImpl>();
  DataParallel dp(net, two_);
  EXPECT_EQ(dp(torch::randn({8, 8})).scalar_type(), torch::kBFloat16);
}

TEST_F(PytorchCasesTest, ZeroGradInAReplicaLeavesTheModulesGradients) {
  struct NetImpl : torch::nn::Module {
    at::Tensor forward(const at::Tensor& x) {
      zero_grad();
      return linear(x);
    }
    torch::nn::Linear linear = register_module("linear", torch::nn::Linear(3, 2));
  };
  const auto net = std::make_shared<NetImpl>();
  DataParallel dp(net, two_);
  net->linear->bias.mutable_grad() = torch::ones_like(net->linear->bias);
  dp(torch::randn({4, 3})).sum().backward();
  EXPECT_TRUE(at::equal(net->linear->bias.grad().cpu(), torch::full({2}, 5.)));
}

TEST_F(PytorchCasesTest, ContainersOfParametersAreIndexedInReplicas) {
  struct NetImpl : torch::nn::Module {
    at::Tensor forward(const at::Tensor& x) {
      for (const at::Tensor& p : {list[0], list[1], dict["a"], dict["b"]})
        EXPECT_TRUE(p.requires_grad() && p.grad_fn() != nullptr);
      return x * list[0] + list[1] * dict["a"] + dict["b"];
    }
    torch::nn::ParameterList list = register_module("list", torch::nn::ParameterList());
    torch::nn::ParameterDict dict = register_module("dict", torch::nn::ParameterDict());
  };
  const auto make = [] {
    auto net = std::make_shared<NetImpl>();
    for (int i = 0; i < 2; ++i)
      net->list->append(torch::rand({4}).requires_grad_());
    net->dict->insert("a", torch::rand({4}).requires_grad_());
    net->dict->insert("b", torch::rand({4}).requires_grad_());
    return net;
  };
  const auto net = make();
  DataParallel dp(net, two_, {.make = make});
  const at::Tensor x = torch::randn({8, 4}), y = dp(x);
  auto p = net->parameters();
  for (at::Tensor& tensor : p)
    tensor = tensor.cpu();
  EXPECT_LE(farthest(y, x * p[0] + p[1] * p[2] + p[3]), 1e-6);
}

TEST_F(PytorchCasesTest, GradientsHaveTheLayoutOfTheirParameters) {
  using torch::nn::Conv2d;
  for (const auto layout : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast}) {
    for (const auto dtype : {at::kFloat, at::kHalf}) {
      torch::nn::Sequential one(Conv2d(4, 8, 2), Conv2d(8, 4, 2));
      for (const at::Tensor& p : one->parameters())
        at::Tensor(p).set_data(p.dim() == 4 ? p.detach().to(dtype).contiguous(layout)
                                            : p.detach().to(dtype));
      const auto many = std::dynamic_pointer_cast<torch::nn::SequentialImpl>(one->clone());
      DataParallel dp(many, two_);
      torch::optim::SGD first(one->parameters(), 0.1), second(many->parameters(), 0.1);
      const at::Tensor x = torch::randn({6, 4, 5, 5}).to(dtype),
                       target = torch::randn({6, 4, 3, 3});
      for (int step = 0; step < 2; ++step) {  // gradients that are new, and that were zeroed
        torch::mse_loss(one->forward(x).to(at::kFloat), target).backward();
        torch::mse_loss(dp(x).to(at::kFloat), target).backward();
        for (const at::Tensor& p : many->parameters())
          EXPECT_TRUE(p.dim() != 4 || p.grad().is_contiguous(layout)) << layout << ' ' << dtype;
        EXPECT_LE(gradient_difference(*one, *many), dtype == at::kHalf ? 1e-2 : 1e-5);
        first.step();
        second.step();
        first.zero_grad();
        second.zero_grad();
      }
    }
  }
}

TEST_F(PytorchCasesTest, TheWrapperGivesBackAllMemory) {
  const auto bytes = [](int index) {
    return logical_device(test_device(index)).memory_stats().in_use;
  };
  const std::size_t first = bytes(0), second = bytes(1);
  {
    Mlp net;
    DataParallel dp(net, two_);
    dp(torch::randn({4, 6})).sum().backward();
    EXPECT_GT(bytes(1), second);
  }
  EXPECT_EQ(bytes(0), first);
  EXPECT_EQ(bytes(1), second);
}

TEST_F(PytorchCasesTest, ScatterAndGatherAreLinearToTheSecondOrder) {
  const std::vector<Device> devices = test_devices(2);
  const at::Tensor x = torch::randn({4, 4}, at::kDouble).requires_grad_();
  for (const at::Tensor& input :
       {x, x.to(torch_device(devices[0]))}) {  // from the host, and a device
    const auto parts = parallel::scatter(input, devices, std::vector<std::int64_t>{2, 2});
    const at::Tensor y = parallel::gather(std::span<const at::Tensor>(parts), devices[1]);
    EXPECT_EQ(farthest(y, x), 0);
    // d(y^3)/dx = 3 x^2, and of its sum 6 x.
    const at::Tensor slope = torch::autograd::grad({y.pow(3).sum()}, {x}, {}, true, true)[0];
    EXPECT_LE(farthest(slope, 3 * x.square()), 1e-12);
    EXPECT_LE(farthest(torch::autograd::grad({slope.sum()}, {x})[0], 6 * x), 1e-12);
  }
  const auto parts = parallel::scatter(x, devices, std::vector<std::int64_t>{2, 2});
  (2 * parts[0]).sum().backward();  // the other part gets zeros
  EXPECT_LE(farthest(x.grad(),
                     torch::cat({torch::full({2, 4}, 2., at::kDouble),
                                 torch::zeros({2, 4}, at::kDouble)})),
            0);
}

TEST_F(PytorchCasesTest, ScalarsAreGatheredIntoAVector) {
  const std::vector<Device> devices = test_devices(2);
  std::vector<at::Tensor> parts;
  for (const Device device : devices)
    parts.push_back(
        torch::randn({}, at::TensorOptions().device(torch_device(device))).requires_grad_());
  const at::Tensor y = parallel::gather(std::span<const at::Tensor>(parts), devices[0]);
  const at::Tensor weights = torch::tensor({3., 5.}).to(y.device(), y.scalar_type());
  EXPECT_LE(farthest(y, torch::stack({parts[0].cpu(), parts[1].cpu()})), 0);
  y.backward(weights);
  EXPECT_EQ(parts[0].grad().item<double>(), 3);
  EXPECT_EQ(parts[1].grad().item<double>(), 5);
  EXPECT_EQ(parts[1].grad().device(), torch_device(devices[1]));
}

TEST_F(PytorchCasesTest, MapsOfOtherSizesCannotBeGathered) {
  const std::vector<TensorMap> parts{{{"a", torch::ones({1, 2})}},
                                     {{"a", torch::ones({1, 2})}, {"b", torch::ones({1, 2})}}};
  EXPECT_THAT(thrown_text([&] { parallel::gather(std::span(parts), test_device(0)); }),
              HasSubstr("part 1 holds 2 tensors, but part 0 holds 1"));
}

/// Gradients of the tensors that train, on the host and dense.
std::vector<at::Tensor> gradients_of(const torch::nn::Module& net) {
  std::vector<at::Tensor> all;
  for (const auto& list : {net.parameters(), net.buffers()})
    for (const at::Tensor& x : list)
      if (x.requires_grad()) all.push_back(x.grad().to_dense().cpu());
  return all;
}

/// Gradients of a call and of a step are those of the module alone.
template <class Net>
void expect_gradients_as_alone(const parallel::DataParallelOptions& options, const at::Tensor& x) {
  const auto many = std::make_shared<Net>();
  const auto one = std::dynamic_pointer_cast<Net>(many->clone());
  for (const auto& buffer : many->named_buffers())
    one->named_buffers()[buffer.key()].requires_grad_(buffer.value().requires_grad());
  const auto loss = [](Net& net, const at::Tensor& part) {
    return net.forward(part).abs().square().mean();
  };
  loss(*one, x).backward();
  const std::vector<at::Tensor> expected = gradients_of(*one);
  DataParallel dp(many, options);
  dp(x).abs().square().mean().backward();
  const std::vector<at::Tensor> of_call = gradients_of(*many);
  for (const auto& list : {many->parameters(), many->buffers()})
    for (at::Tensor y : list)
      if (y.requires_grad()) y.mutable_grad().reset();
  dp.step(x, loss);
  const std::vector<at::Tensor> of_step = gradients_of(*many);
  ASSERT_EQ(expected.size(), of_call.size());
  ASSERT_EQ(expected.size(), of_step.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_LE(farthest(of_call[i], expected[i]), 1e-12);
    EXPECT_LE(farthest(of_step[i], expected[i]), 1e-12);
  }
}

TEST_F(PytorchCasesTest, ComplexParametersAreTrained) {
  struct NetImpl : torch::nn::Cloneable<NetImpl> {
    NetImpl() { reset(); }
    void reset() override {
      weight = register_parameter("weight", torch::randn({3, 2}, at::kComplexDouble).t().clone());
      shift = register_buffer("shift", torch::randn({3}, at::kComplexDouble));
    }
    at::Tensor forward(const at::Tensor& x) const { return x.matmul(weight.conj()) + shift; }
    at::Tensor weight, shift;
  };
  expect_gradients_as_alone<NetImpl>(two_, torch::randn({5, 2}, at::kComplexDouble));
}

TEST_F(PytorchCasesTest, ABufferThatRequiresGradIsTrained) {
  struct NetImpl : torch::nn::Cloneable<NetImpl> {
    NetImpl() {
      reset();
      scale.requires_grad_();  // not in reset(), so that clone() has a buffer that does not train
    }
    void reset() override {
      scale = register_buffer("scale", torch::randn({3}, at::kDouble));
      shift = register_buffer("shift", torch::randn({3}, at::kDouble));
    }
    at::Tensor forward(const at::Tensor& x) const { return x * scale + shift; }
    at::Tensor scale, shift;
  };
  expect_gradients_as_alone<NetImpl>(two_, torch::randn({5, 3}, at::kDouble));
}

TEST_F(PytorchCasesTest, SparseGradientsAreAddedUp) {
  struct NetImpl : torch::nn::Cloneable<NetImpl> {
    NetImpl() { reset(); }
    void reset() override {
      const auto options = torch::nn::EmbeddingOptions(10, 5).sparse(true);
      table = register_module("table", torch::nn::Embedding(options));
      table->to(at::kDouble);
    }
    at::Tensor forward(const at::Tensor& x) { return table(x); }
    torch::nn::Embedding table{nullptr};
  };
  const at::Tensor words = torch::randint(10, {20});
  expect_gradients_as_alone<NetImpl>(two_, words);
  const auto net = std::make_shared<NetImpl>();
  DataParallel(net, two_)(words).sum().backward();
  EXPECT_TRUE(net->table->weight.grad().is_sparse());
}

TEST_F(PytorchCasesTest, UnusedParametersMayGetZeros) {
  struct NetImpl : torch::nn::Cloneable<NetImpl> {
    NetImpl() { reset(); }
    void reset() override {
      used = register_parameter("used", torch::ones({2}));
      unused = register_parameter("unused", torch::ones({2, 3}));
    }
    at::Tensor forward(const at::Tensor& x) const { return x * used; }
    at::Tensor used, unused;
  };
  for (const auto wanted : {UnusedGradients::none, UnusedGradients::zeros}) {
    const auto net = std::make_shared<NetImpl>();
    DataParallel(net, two_, {.unused = wanted})(torch::ones({4, 2})).sum().backward();
    EXPECT_EQ(net->used.grad().sum().item<double>(), 8);
    ASSERT_EQ(net->unused.grad().defined(), wanted == UnusedGradients::zeros);
    if (wanted == UnusedGradients::zeros) {
      EXPECT_EQ(farthest(net->unused.grad(), torch::zeros({2, 3})), 0);
    }
  }
}

}  // namespace
}  // namespace tandem::libtorch::test
