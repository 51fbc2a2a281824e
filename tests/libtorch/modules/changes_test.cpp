// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// What a program does to its module after wrapping, against one device: other precisions, other
// parts, modes, frozen parameters, states, values.

#include <functional>
#include <sstream>
#include <string>

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

constexpr std::int64_t kChangedRows = 11;

/// Two equal modules, one of them on three devices, trained by both ways in turn.
template <class Holder>
class Twins {
 public:
  using Module = std::remove_reference_t<decltype(*std::declval<Holder&>())>;

  Twins() : Twins(twins<Holder>()) {}

  /// Changes both modules, and holds the next steps of both ways to one device's.
  void change(const std::string& what, const std::function<void(Module&)>& f) {
    SCOPED_TRACE(what);
    f(*one_);
    f(*many_);
    train();
  }
  /// Two steps with the loss in the replicas and two over gathered outputs, with plain SGD.
  void train() {
    for (int step = 0; step < 4; ++step) {
      const Batch batch = Module::batch(kChangedRows);
      one_->zero_grad();
      many_->zero_grad();
      const at::Tensor loss = squared_error(*one_, batch);
      loss.backward();
      if (step % 2 == 0) {
        EXPECT_NEAR(dp_.step(batch, squared_error).loss, loss.template item<double>(), 1e-12);
      } else {
        const at::Tensor y = dp_(batch.x);
        torch::mse_loss(y, batch.y).backward();
      }
      ASSERT_LE(gradient_difference(*one_, *many_), 1e-12) << step;
      for (Module* net : {&*one_, &*many_}) {
        const torch::NoGradGuard off;
        for (at::Tensor& p : net->parameters())
          if (p.grad().defined()) p.sub_(p.grad(), 0.1);
      }
      EXPECT_LE(difference(*one_, *many_), 1e-12) << step;
      EXPECT_LE(buffer_difference(*one_, *many_), 1e-12) << step;
    }
  }
  Module& many() { return *many_; }

 private:
  explicit Twins(std::pair<Holder, Holder> both)
      : one_(both.first), many_(both.second), dp_(many_, {.devices = test_devices(3)}) {
    train();
  }

  Holder one_, many_;
  DataParallel<Module> dp_;
};

TEST(ChangesTest, ValuesAndStates) {
  torch::manual_seed(0);
  Twins<NormedCnn> pair;
  pair.change("values", [](NormedCnnImpl& net) {
    const torch::NoGradGuard off;
    net.head->weight.mul_(0.5);
  });
  pair.change("values that PyTorch does not count",
              [](NormedCnnImpl& net) { net.head->weight.data().clamp_(-0.05, 0.05); });
  pair.change("buffers", [](NormedCnnImpl& net) { net.norm->running_mean.fill_(0.25); });
  NormedCnn other;
  other->to(torch::kDouble);
  pair.change("a state", [&](NormedCnnImpl& net) {
    std::stringstream file;
    torch::save(other, file);
    torch::serialize::InputArchive archive;
    archive.load_from(file, net.head->weight.device());
    net.load(archive);
  });
}

TEST(ChangesTest, AValueThatIsWrittenWithoutPyTorch) {
  torch::manual_seed(0);
  Twins<NormedCnn> pair;
  pair.change("a bias", [](NormedCnnImpl& net) { net.head->bias.data_ptr<double>()[1] = 3; });
}

TEST(ChangesTest, ModesAndFrozenParameters) {
  torch::manual_seed(0);
  Twins<NormedCnn> pair;
  pair.change("evaluation", [](NormedCnnImpl& net) { net.eval(); });
  pair.change("training but for a part", [](NormedCnnImpl& net) {
    net.train();
    net.rows->eval();
  });
  pair.change("a frozen layer", [](NormedCnnImpl& net) {
    net.train();
    for (at::Tensor& p : net.conv->parameters())
      p.set_requires_grad(false);
  });
  EXPECT_FALSE(pair.many().conv->weight.grad().defined());
  pair.change("only one layer that is not frozen", [](NormedCnnImpl& net) {
    for (at::Tensor& p : net.parameters())
      p.set_requires_grad(false);
    net.head->weight.set_requires_grad(true);
  });
  pair.change("all of them again", [](NormedCnnImpl& net) {
    for (at::Tensor& p : net.parameters())
      p.set_requires_grad(true);
  });
  EXPECT_TRUE(pair.many().conv->weight.grad().defined());
}

TEST(ChangesTest, PartsThatWereReplaced) {
  torch::manual_seed(0);
  Twins<Mlp> pair;
  torch::nn::Linear other(6, 10);
  other->to(torch::kDouble);
  const auto replace = [&](MlpImpl& net) {
    const auto layer =
        std::dynamic_pointer_cast<torch::nn::LinearImpl>(other->clone(net.first->weight.device()));
    net.first = net.replace_module("first", layer);
  };
  pair.change("a layer", replace);
  pair.change("the same layer again", replace);
}

/// A module whose second part may be of several classes.
struct PartedImpl : torch::nn::Module {
  at::Tensor forward(const at::Tensor& x) {
    const at::Tensor h = linear(x);
    if (auto* tanh = part->as<torch::nn::Tanh>()) return tanh->forward(h);
    return part->as<torch::nn::ReLU>()->forward(h);
  }
  static Batch batch(std::int64_t rows) { return MlpImpl::batch(rows); }
  torch::nn::Linear linear = register_module("linear", torch::nn::Linear(6, 3));
  std::shared_ptr<torch::nn::Module> part = register_module("part", torch::nn::Tanh().ptr());
};
TORCH_MODULE(Parted);

TEST(ChangesTest, APartWithoutTensorsIsOfTheClassThatMakeGivesOrRefused) {
  Parted net;
  net->to(torch::kDouble);
  const auto use_relu = [](PartedImpl& module) {
    module.part = module.replace_module("part", torch::nn::ReLU().ptr());
  };
  const at::Tensor x = PartedImpl::batch(kChangedRows).x;
  {
    DataParallel dp(net, {.devices = test_devices(2)});
    EXPECT_LE((dp(x) - forward_alone(net, x)).abs().max().item<double>(), 1e-12);
    use_relu(*net);
    EXPECT_THAT(
        thrown_text([&] { dp(x); }),
        AllOf(HasSubstr("'part'"), HasSubstr("ReLU"), HasSubstr("Tanh"), HasSubstr(".make")));
  }
  bool is_relu = true;
  const auto make = [&] {
    auto copy = std::make_shared<PartedImpl>();
    if (is_relu) use_relu(*copy);
    return copy;
  };
  DataParallel dp(net, {.devices = test_devices(2)}, {.make = make});
  EXPECT_LE((dp(x) - forward_alone(net, x)).abs().max().item<double>(), 1e-12);
  net->part = net->replace_module("part", torch::nn::Tanh().ptr());
  is_relu = false;
  EXPECT_LE((dp(x) - forward_alone(net, x)).abs().max().item<double>(), 1e-12);
}

TEST(ChangesTest, PartsOfAnotherShapeAreRefusedByName) {
  Mlp net;
  DataParallel dp(net, {.devices = test_devices(2)});
  torch::nn::Linear other(10, 4);
  other->to(net->first->weight.device());
  net->second = net->replace_module("second", other);
  EXPECT_THAT(thrown_text([&] {
                dp(torch::ones({4, 6}));
              }),
              AllOf(HasSubstr("'second.weight'"), HasSubstr(".make")));
}

/// Trains two modules in another precision than they were wrapped in.
/// @return the largest difference of weights
template <class Shared>
double difference_in(at::ScalarType dtype) {
  auto [one, many] = twins<Mlp>();
  DataParallel dp(many, {.devices = test_devices(3)});
  dp.step(MlpImpl::batch(kChangedRows), squared_error);  // in f64, before the change
  for (auto* net : {&one, &many}) {
    (*net)->zero_grad();
    (*net)->to(dtype);
  }
  torch::optim::SGD first(one->parameters(), 0.1);
  Shared second(many->parameters(), 0.1);
  // The loss in f32, as programs write it.
  const auto loss = [](MlpImpl& net, const Batch& batch) {
    return torch::mse_loss(net.forward(batch.x).to(torch::kFloat), batch.y);
  };
  for (int step = 0; step < 8; ++step) {
    const Batch batch{torch::randn({kChangedRows, 6}).to(dtype), torch::randn({kChangedRows, 3})};
    first.zero_grad();
    loss(*one, batch).backward();
    first.step();
    if (step % 2 == 0) {
      dp.step(batch, loss, second);
    } else {
      second.zero_grad();
      const at::Tensor y = dp(batch.x);
      EXPECT_EQ(y.scalar_type(), dtype);
      torch::mse_loss(y.to(torch::kFloat), batch.y).backward();
      EXPECT_EQ(many->first->weight.grad().scalar_type(), dtype);
      second.step();
    }
  }
  EXPECT_EQ(many->first->weight.scalar_type(), dtype);
  return difference(*one, *many);
}

TEST(ChangesTest, Precisions) {
  using Sgd = torch::optim::SGD;
  torch::manual_seed(0);
  // Eight steps move weights of at most 0.41; the last bit of such a weight is 2^-9 of bf16's, and
  // 2^-12 of f16's.
  EXPECT_LE(difference_in<Sgd>(torch::kBFloat16), 8 * 0x1p-9);
  EXPECT_LE(difference_in<Sgd>(torch::kHalf), 8 * 0x1p-12);
  EXPECT_LE(difference_in<Sgd>(torch::kFloat), 1e-6);
  EXPECT_LE(difference_in<Optimizer<Sgd>>(torch::kFloat), 1e-6);
  EXPECT_THAT(thrown_text([] { difference_in<Optimizer<Sgd>>(torch::kBFloat16); }),
              AllOf(HasSubstr("'first.weight' is BFloat16"), HasSubstr("optimizer of PyTorch")));
}

}  // namespace
}  // namespace tandem::libtorch::test
