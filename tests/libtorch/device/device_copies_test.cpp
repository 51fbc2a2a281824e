// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Modules and optimizers on a virtual device: copied, saved and loaded; seeds.

#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "libtorch/registered_devices.hpp"

namespace tandem::libtorch::test {
namespace {

namespace nn = torch::nn;

class DeviceCopiesTest : public RegisteredDevicesTest {
 protected:
  static nn::Sequential make_net() {
    return nn::Sequential(nn::Conv2d(nn::Conv2dOptions(2, 4, 3).padding(1)),
                          nn::BatchNorm2d(4),
                          nn::ReLU(),
                          nn::Flatten(),
                          nn::Linear(64, 3));
  }
  static torch::Tensor input(torch::Device where) { return torch::randn({5, 2, 4, 4}).to(where); }
  template <class Optimizer>
  static void step(nn::Sequential& net, Optimizer& optimizer, const torch::Tensor& x) {
    optimizer.zero_grad();
    net->forward(x).square().mean().backward();
    optimizer.step();
  }
  static void expect_on(const nn::Sequential& net, torch::Device where) {
    for (const auto& list : {net->parameters(), net->buffers()})
      for (const torch::Tensor& x : list)
        EXPECT_EQ(x.device(), where);
  }
  static void expect_equal(const nn::Sequential& a, const nn::Sequential& b) {
    const auto p = a->named_parameters(), q = b->named_parameters();
    ASSERT_EQ(p.keys(), q.keys());
    for (const auto& item : p)
      EXPECT_EQ(gap(item.value(), q[item.key()]), 0) << item.key();
    const auto r = a->named_buffers(), s = b->named_buffers();
    for (const auto& item : r)
      EXPECT_EQ(gap(item.value(), s[item.key()]), 0) << item.key();
  }
};

TEST_F(DeviceCopiesTest, TensorsAreSavedAndLoaded) {
  const torch::Tensor x = torch::randn({5}, torch::TensorOptions(device(1)));
  std::stringstream file;
  torch::save(x.cpu(), file);
  torch::Tensor loaded;
  torch::load(loaded, file, device(2));
  EXPECT_EQ(loaded.device(), device(2));
  EXPECT_EQ(gap(x, loaded), 0);
}

TEST_F(DeviceCopiesTest, AModuleIsCopiedFromAnyDeviceToAny) {
  nn::Sequential net = make_net();
  torch::optim::SGD optimizer(net->parameters(), 0.1);
  step(net, optimizer, input(torch::kCPU));  // running statistics that are not those of a new one
  net->eval();
  const std::vector<torch::Device> places{torch::kCPU, device(1), device(2)};
  const torch::Tensor x = input(torch::kCPU);
  const torch::Tensor y = net->forward(x);
  for (const torch::Device from : places) {
    net->to(from);
    for (const torch::Device to : places) {
      const std::size_t before = in_use(1) + in_use(2);
      {
        const nn::Sequential copy(std::dynamic_pointer_cast<nn::SequentialImpl>(net->clone(to)));
        expect_on(copy, to);
        expect_on(net, from);
        expect_equal(net, copy);
        EXPECT_LE(gap(copy->ptr(0)->as<nn::Conv2d>()->weight, net->parameters()[0]), 0);
        EXPECT_FALSE(copy->ptr(1)->is_training());
        EXPECT_LE(gap(nn::Sequential(copy)->forward(x.to(to)), y), 1e-6);
        const torch::NoGradGuard off;
        copy->parameters()[0].zero_();  // of the copy alone
        EXPECT_GT(net->parameters()[0].abs().max().item<float>(), 0);
      }
      EXPECT_EQ(in_use(1) + in_use(2), before);
    }
    // Without a device, the copy stays where the module is.
    expect_on(nn::Sequential(std::dynamic_pointer_cast<nn::SequentialImpl>(net->clone())), from);
  }
}

TEST_F(DeviceCopiesTest, ModulesAreSavedAndLoadedOnAnyDevice) {
  nn::Sequential net = make_net();
  torch::optim::SGD optimizer(net->parameters(), 0.1);
  step(net, optimizer, input(torch::kCPU));
  for (const torch::Device from : {torch::Device(torch::kCPU), device(1)}) {
    net->to(from);
    std::stringstream file;
    torch::save(net, file);
    for (const torch::Device to : {torch::Device(torch::kCPU), device(1), device(3)}) {
      nn::Sequential loaded = make_net();
      loaded->to(to);
      file.clear();
      file.seekg(0);
      torch::load(loaded, file, to);
      expect_on(loaded, to);
      expect_equal(net, loaded);
    }
    nn::Sequential on_device = make_net();  // to where it was saved, without being told
    on_device->to(device(2));
    file.clear();
    file.seekg(0);
    torch::load(on_device, file);
    expect_on(on_device, from);
    expect_equal(net, on_device);
  }
}

template <class Optimizer, class Options>
void expect_training_goes_on(const Options& options,
                             torch::Device where,
                             const std::function<nn::Sequential()>& make,
                             const std::function<torch::Tensor()>& input) {
  nn::Sequential net = make();
  net->to(where);
  Optimizer optimizer(net->parameters(), options);
  std::vector<torch::Tensor> inputs;
  for (int i = 0; i < 6; ++i)
    inputs.push_back(input());
  const auto step = [](nn::Sequential& module, Optimizer& own, const torch::Tensor& x) {
    own.zero_grad();
    module->forward(x).square().mean().backward();
    own.step();
  };
  for (std::size_t i = 0; i < 3; ++i)
    step(net, optimizer, inputs[i]);
  std::stringstream of_net, of_optimizer;
  torch::save(net, of_net);
  torch::save(optimizer, of_optimizer);
  nn::Sequential again = make();
  again->to(where);
  Optimizer other(again->parameters(), options);
  torch::load(again, of_net, where);
  torch::load(other, of_optimizer, where);
  for (std::size_t i = 3; i < 6; ++i) {
    step(net, optimizer, inputs[i]);
    step(again, other, inputs[i]);
  }
  for (std::size_t p = 0; p < net->parameters().size(); ++p)
    EXPECT_EQ(gap(net->parameters()[p], again->parameters()[p]), 0) << p;
}

TEST_F(DeviceCopiesTest, TrainingGoesOnFromASavedModuleAndOptimizer) {
  namespace optim = torch::optim;
  for (const torch::Device where : {torch::Device(torch::kCPU), device(1)}) {
    SCOPED_TRACE(where.str());
    const auto x = [&] { return input(where); };
    expect_training_goes_on<optim::SGD>(optim::SGDOptions(0.1).momentum(0.9), where, make_net, x);
    expect_training_goes_on<optim::Adam>(optim::AdamOptions(0.01), where, make_net, x);
    expect_training_goes_on<optim::AdamW>(optim::AdamWOptions(0.01), where, make_net, x);
    expect_training_goes_on<optim::RMSprop>(optim::RMSpropOptions(0.01), where, make_net, x);
  }
}

TEST_F(DeviceCopiesTest, OneSeedGivesEachDeviceItsNumbersAgain) {
  const auto draw = [](int d) {
    const auto options = torch::TensorOptions(device(d));
    torch::Tensor filled = torch::empty({9}, options);
    filled.bernoulli_(0.5);
    const nn::Dropout drop(0.5);
    return std::vector<torch::Tensor>{torch::randn({9}, options),
                                      torch::rand({9}, options),
                                      torch::randperm(9, options.dtype(torch::kLong)),
                                      torch::randint(100, {9}, options),
                                      torch::multinomial(torch::ones({9}, options), 4),
                                      torch::normal(0, 1, {9}, std::nullopt, options),
                                      filled,
                                      nn::Dropout(drop)->forward(torch::ones({64}, options))};
  };
  std::map<int, std::vector<torch::Tensor>> first;
  torch::manual_seed(11);
  for (int d = 0; d < 8; ++d)
    first[d] = draw(d);
  torch::manual_seed(12);
  EXPECT_FALSE(torch::equal(first[3][0].cpu(), draw(3)[0].cpu()));
  torch::manual_seed(11);
  for (int d = 7; d >= 0; --d) {  // in another order
    const auto again = draw(d);
    for (std::size_t i = 0; i < again.size(); ++i)
      EXPECT_TRUE(torch::equal(first[d][i].cpu(), again[i].cpu())) << d << ' ' << i;
  }
}

TEST_F(DeviceCopiesTest, AStorageIsShownWithoutStrides) {
  const torch::Tensor x = torch::arange(6, torch::kFloat).to(device(2));
  torch::Tensor whole = torch::empty({0}, torch::TensorOptions(device(2)));
  whole.set_(x.storage());
  EXPECT_EQ(gap(whole, x), 0);
  torch::Tensor bytes = torch::empty({0}, torch::TensorOptions(device(2)).dtype(torch::kByte));
  bytes.set_(x.storage(), 4, {8}, {});
  EXPECT_EQ(gap(bytes.view(torch::kFloat), x.slice(0, 1, 3)), 0);
}

TEST_F(DeviceCopiesTest, LazyConjugatesAndNegativesAreComputed) {
  const torch::Tensor host = torch::randn({3}, torch::kComplexDouble), x = host.to(device(2));
  for (const torch::Tensor& y : {x.conj().clone(), x.conj().resolve_conj(), x.conj().cpu()})
    EXPECT_EQ(
        gap(torch::view_as_real(y.resolve_conj()), torch::view_as_real(host.conj().resolve_conj())),
        0);
  EXPECT_EQ(gap(torch::imag(x.conj()).clone(), -torch::imag(host)), 0);
}

TEST_F(DeviceCopiesTest, AGeneratorIsSeededAndPutBackAlone) {
  const auto options = torch::TensorOptions(device(2));
  at::Generator generator = at::globalContext().defaultGenerator(device(2));
  generator.set_current_seed(5);
  const torch::Tensor state = generator.get_state();
  const torch::Tensor a = torch::rand({7}, options), other = torch::rand({7}, device(3));
  generator.set_state(state);
  EXPECT_TRUE(torch::equal(a.cpu(), torch::rand({7}, options).cpu()));
  EXPECT_FALSE(torch::equal(other.cpu(), torch::rand({7}, device(3)).cpu())) << "it has gone on";
  EXPECT_EQ(generator.current_seed(), 5U);
}

}  // namespace
}  // namespace tandem::libtorch::test
