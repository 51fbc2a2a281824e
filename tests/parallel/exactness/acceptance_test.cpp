// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>

#include "tandem/autograd/autograd.hpp"
#include "tandem/autograd/gradcheck.hpp"
#include "tandem/nn/replicate.hpp"
#include "tandem/ops/activation.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/ops/unary.hpp"
#include "tandem/optim/sgd.hpp"
#include "tandem/parallel/parallel_apply.hpp"
#include "tandem/parallel/replica_error.hpp"
#include "tandem/parallel/scatter_gather.hpp"

#include "devices.hpp"
#include "parallel/near.hpp"
#include "parallel/nets.hpp"
#include "thrown_text.hpp"

// What PyTorch asks of its DataParallel, where no other test of ours does: docs/acceptance.md.
namespace tandem::parallel::test {
namespace {

using tandem::testing::thrown_text;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Two tensors, a number, and a tensor that may be left out.
struct Several : nn::Module {
  nn::Linear body{3, 2, {.dtype = DType::f64}};
  Tensor forward(const Tensor& a, const Tensor& b, double factor, std::optional<Tensor> c) {
    const Tensor y = body(a) * factor + body(b);
    return c ? y * *c : y;
  }
  TANDEM_MODULE(Several, body)
};

TEST(AcceptanceTest, SeveralInputsInAnyOrderOfDevices) {
  for (const std::vector<int>& order : {std::vector<int>{0}, {0, 1}, {1, 0}}) {
    for (const bool with_c : {false, true}) {
      std::vector<Device> here;
      for (const int index : order)
        here.push_back(testing::device(index));
      manual_seed(1);
      Several alone;
      Several net = nn::replicate(alone, here[0]);
      std::vector<Tensor> own, same;
      for (int i = 0; i < 3; ++i) {
        same.push_back(randn({5, i < 2 ? 3 : 2}, f64()).requires_grad_());
        own.push_back(same.back().detach().clone().requires_grad_());
      }
      const auto optional = [&](const Tensor& c) {
        return with_c ? std::optional(c) : std::nullopt;
      };
      const Tensor expected = alone(same[0], same[1], 0.5, optional(same[2]));
      sum(square(expected)).backward();
      DataParallel dp(net, {.devices = here});
      const Tensor y = dp(own[0], own[1], 0.5, optional(own[2]));
      EXPECT_EQ(y.device(), here[0]);
      EXPECT_THAT(y.to_doubles(), near(expected));
      sum(square(y)).backward();
      EXPECT_LE(difference(gradients_of(net), gradients_of(alone)), 1e-12);
      for (std::size_t i = 0; i < (with_c ? 3u : 2u); ++i)
        EXPECT_THAT(own[i].grad().to_doubles(), near(same[i].grad()));
    }
  }
}

TEST(AcceptanceTest, AnyFloatType) {
  for (const auto& [dtype, tolerance] : std::initializer_list<std::pair<DType, double>>{
           {DType::f64, 1e-14}, {DType::f32, 1e-6}, {DType::f16, 4e-3}, {DType::bf16, 4e-2}}) {
    manual_seed(2);
    nn::Linear net(20, 10, {.dtype = dtype});
    const Tensor x = randn({20, 20}, {.dtype = dtype});
    DataParallel dp(net, {.devices = devices(2)});
    const Tensor y = dp(x);
    EXPECT_EQ(y.dtype(), dtype);
    EXPECT_EQ(y.device(), devices(1)[0]);
    EXPECT_THAT(y.to_doubles(), near(net(x), tolerance));
  }
}

using Nested = std::pair<Tensor, std::tuple<std::vector<Tensor>, std::map<std::string, Tensor>>>;

/// Gives back its argument, doubled.
struct Twice : nn::Module {
  Nested forward(const Nested& x) {
    return map_leaves(x, [](const Tensor& t) { return t * 2.0; });
  }
  TANDEM_MODULE(Twice)
};

TEST(AcceptanceTest, NestsKeepTheirTypes) {
  Twice net;
  DataParallel dp(net, {.devices = devices(2)});
  const Nested x{arange(0, 3), {{arange(3, 6), arange(0, 6).reshape({3, 2})}, {{"k", ones({3})}}}};
  const Nested y = dp(x);
  const std::vector<Tensor> before = leaves(x), after = leaves(y);
  ASSERT_EQ(after.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_THAT(after[i].to_doubles(), near(before[i] * 2.0));
}

struct WithBuffer : nn::Module {
  nn::Linear body{2, 2};
  nn::BufferTensor offset = zeros({2});
  Tensor forward(const Tensor& x) { return body(x) + offset; }
  TANDEM_MODULE(WithBuffer, body, offset)
};

TEST(AcceptanceTest, ATensorThatIsElsewhereIsNamed) {
  for (const std::string name : {"body.weight", "body.bias", "offset"}) {
    WithBuffer net;
    nn::visit_tensors(net, [&](const std::string& at, Tensor& x, nn::TensorKind kind) {
      if (at != name) return;
      const Tensor moved = x.detach().to(testing::device(1));
      x = kind == nn::TensorKind::parameter ? static_cast<Tensor>(nn::Parameter(moved)) : moved;
    });
    EXPECT_THAT(thrown_text([&] { DataParallel(net, {.devices = devices(2)}); }),
                HasSubstr("'" + name + "' is on " + testing::device_name(1)));
  }
}

struct SeesGradMode : nn::Module {
  std::vector<int> seen;
  nn::Parameter weight = ones({1});
  Tensor forward(const Tensor& x) {
    seen.push_back(context().grad_enabled ? 1 : 0);
    return x * weight;
  }
  TANDEM_MODULE(SeesGradMode, weight)
};

TEST(AcceptanceTest, GradModeIsTheCallers) {
  SeesGradMode net;
  DataParallel dp(net, {.devices = devices(2)});
  EXPECT_TRUE(dp(ones({2})).requires_grad());
  {
    const autograd::NoGrad off;
    EXPECT_FALSE(dp(ones({2})).requires_grad());
  }
  for (int r = 0; r < 2; ++r)
    EXPECT_THAT(dp.replica(r).seen, ElementsAre(1, 0));
}

TEST(AcceptanceTest, TheWrapperGivesBackAllMemory) {
  const auto bytes = [] {
    std::vector<std::size_t> all;
    for (const Device d : devices(3))
      all.push_back(logical_device(d).memory_stats().in_use);
    return all;
  };
  const auto before = bytes();
  {
    Cnn net;
    optim::SGD sgd(net.named_parameters(), {.lr = 0.1});
    DataParallel dp(net, {.devices = devices(3)});
    const Batch batch = make_batch(5, 1, DType::f64, false);
    dp.step(batch, kLoss, &sgd);
    cross_entropy(dp(batch.x), batch.labels).backward();
  }
  EXPECT_EQ(bytes(), before);
}

// The penalty of PyTorch's #16532, computed in the replica.
TEST(AcceptanceTest, AGradientPenaltyInTheReplicaIsExact) {
  nn::Linear net(4, 1, {.dtype = DType::f64});
  DataParallel dp(net, {.devices = devices(2)});
  dp.step(ones({2, 4}, f64()), [](nn::Linear& m, const Tensor& part) {
    const Tensor x = part.detach().requires_grad_();
    const Tensor y = m(x);
    return mean(autograd::grad({y}, {x}, {ones_like(y)}, {.create_graph = true})[0]);
  });
  EXPECT_THAT(net.weight.grad().to_doubles(), Each(0.25));
  const Tensor bias = net.bias.grad();
  EXPECT_EQ(bias.defined() ? bias.item() : 0, 0);
}

TEST(AcceptanceTest, ScatterAndGatherPassGradcheck) {
  const Tensor x = randn({4, 3}, f64()).requires_grad_();
  EXPECT_EQ(autograd::gradcheck(
                [](const std::vector<Tensor>& in) {
                  const auto parts = scatter(in[0], devices(3), std::vector<std::int64_t>{1, 0, 3});
                  return std::vector<Tensor>{parts[0] * 2.0, square(parts[2])};
                },
                {x}),
            "");
  EXPECT_EQ(autograd::gradcheck(
                [](const std::vector<Tensor>& in) {
                  const std::vector<Tensor> parts{in[0], in[1].to(devices(2)[1])};
                  return std::vector<Tensor>{square(gather(std::span(parts), devices(2)[1]))};
                },
                {x, randn({2, 3}, f64()).requires_grad_()}),
            "");
}

TEST(AcceptanceTest, GradientsOfGatheredPartsReturnToTheirDevices) {
  const auto here = devices(2);
  for (const Device destination : {here[1], Device{DeviceType::cpu, 0}}) {
    const std::vector<Tensor> parts{ones({5}, {.device = here[0]}).requires_grad_(),
                                    ones({5}, {.device = here[1]}).requires_grad_()};
    const Tensor y = gather(std::span(parts), destination);
    EXPECT_EQ(y.device(), destination);
    EXPECT_EQ(y.shape(), (Shape{10}));
    sum(y * 3.0).backward();
    const std::vector<Tensor> scalars{scalar(1, {.device = here[0]}).requires_grad_(),
                                      scalar(2, {.device = here[1]}).requires_grad_()};
    sum(square(gather(std::span(scalars), destination))).backward();
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(parts[i].grad().device(), here[i]);
      EXPECT_THAT(parts[i].grad().to_doubles(), Each(3));
      EXPECT_EQ(scalars[i].grad().item(), 2.0 * static_cast<double>(i + 1));
    }
  }
}

TEST(AcceptanceTest, MapsOfOtherSizesCannotBeGathered) {
  const std::vector<std::map<std::string, Tensor>> parts{{{"a", ones({2})}},
                                                         {{"a", ones({2})}, {"b", ones({2})}}};
  EXPECT_THAT(thrown_text([&] { gather(std::span(parts), devices(1)[0]); }),
              HasSubstr("part 1 holds 2 tensors, but part 0 holds 1"));
}

TEST(AcceptanceTest, AChunkOnItsOwnDeviceIsAView) {
  const Tensor x = arange(0, 6);
  const auto parts = scatter(x, devices(2), std::vector<std::int64_t>{2, 4});
  EXPECT_EQ(&parts[0].buffer(), &x.buffer());
  EXPECT_NE(&parts[1].buffer(), &x.buffer());
}

TEST(AcceptanceTest, ChannelsLastSurvivesScatterAndGather) {
  const Tensor x = randn({6, 4, 3, 2}).contiguous(MemoryFormat::channels_last);
  const auto parts = scatter(x, devices(2), std::vector<std::int64_t>{2, 4});
  for (const Tensor& part : parts)
    EXPECT_TRUE(part.is_contiguous(MemoryFormat::channels_last));
  const Tensor y = gather(std::span(parts), devices(2)[1]);
  EXPECT_TRUE(y.is_contiguous(MemoryFormat::channels_last));
  EXPECT_THAT(y.to_doubles(), near(x));
}

struct MixedLayouts : nn::Module {
  nn::Conv2d first{3, 4, 3, {.dtype = DType::f64}};
  nn::Conv2d second{4, 4, 3, {.dtype = DType::f64}};
  MixedLayouts() { second.weight = second.weight.detach().contiguous(MemoryFormat::channels_last); }
  Tensor forward(const Tensor& x) { return second(tanh(first(x))); }
  TANDEM_MODULE(MixedLayouts, first, second)
};

TEST(AcceptanceTest, GradientsHaveTheLayoutOfTheirParameters) {
  manual_seed(3);
  MixedLayouts alone;
  MixedLayouts net = nn::clone(alone);
  DataParallel dp(net, {.devices = devices(2)});
  for (int iteration = 0; iteration < 2; ++iteration) {
    const Tensor x = randn({4, 3, 6, 6}, f64());
    alone.zero_grad();
    net.zero_grad();
    sum(square(alone(x))).backward();
    sum(square(dp(x))).backward();
    EXPECT_LE(difference(gradients_of(net), gradients_of(alone)), 1e-12);
    for (const Tensor& p : net.parameters())
      EXPECT_EQ(p.grad().strides(), p.strides());
  }
}

struct Containers : nn::Module {
  std::vector<nn::Parameter> list{full({2}, 2.0), full({2}, 3.0)};
  std::map<std::string, nn::Parameter> named{{"scale", full({2}, 5.0)}};
  Tensor forward(const Tensor& x) { return x * list.at(0) * list.at(1) * named.at("scale"); }
  TANDEM_MODULE(Containers, list, named)
};

TEST(AcceptanceTest, ContainersOfParametersCanBeIndexedInReplicas) {
  Containers net;
  DataParallel dp(net, {.devices = devices(2)});
  sum(dp(ones({3, 2}))).backward();
  EXPECT_THAT(net.list[0].grad().to_doubles(), ElementsAre(45, 45));
  EXPECT_THAT(net.list[1].grad().to_doubles(), ElementsAre(30, 30));
  EXPECT_THAT(net.named.at("scale").grad().to_doubles(), ElementsAre(18, 18));
  EXPECT_EQ(dp.replica(1).parameters().size(), 3u);
}

TEST(AcceptanceTest, ZeroGradOnAReplicaClearsItsOwn) {
  Mlp net;
  DataParallel dp(net, {.devices = devices(2)});
  dp.step(make_batch(4, 1, DType::f64, false), kLoss);
  const Values before = gradients_of(net);
  dp.replica(1).zero_grad();
  for (const Tensor& p : dp.replica(1).parameters())
    EXPECT_FALSE(p.grad().defined());
  EXPECT_EQ(gradients_of(net), before);
}

TEST(AcceptanceTest, BuffersStandOnTheReplicasDevice) {
  nn::BatchNorm2d norm(4);
  const auto copy = nn::replicate(norm, testing::device(1));
  EXPECT_EQ(copy.buffers().size(), 3u);
  for (const Tensor& b : copy.buffers())
    EXPECT_EQ(b.device(), testing::device(1));
}

/// Types and sizes that cannot stand in one message; an empty tensor; one that does not train.
struct Mixture : nn::Module {
  nn::Parameter a = full({3}, 1.0);
  nn::Parameter b = full({3}, 2.0, {.dtype = DType::f64});
  nn::Parameter empty = zeros({0, 3});
  nn::Parameter frozen = full({1}, 3.0);
  nn::BufferTensor count = arange(0, 3);
  Mixture() { frozen.requires_grad_(false); }
  Tensor forward(const Tensor& x) {
    return x * a.to(DType::f64) * b * frozen.to(DType::f64) * count.to(DType::f64) +
           sum(empty).to(DType::f64);
  }
  TANDEM_MODULE(Mixture, a, b, empty, frozen, count)
};

TEST(AcceptanceTest, MixedTypesAndEmptyTensorsFollow) {
  Mixture net;
  DataParallel dp(
      net, {.devices = devices(3), .exchange = {.first_bucket_nbytes = 1, .bucket_nbytes = 1}});
  for (const double value : {2.0, 7.0}) {
    net.zero_grad();
    {
      const autograd::NoGrad off;
      net.b.fill_(value);
    }
    sum(dp(ones({3, 3}, f64()))).backward();
    EXPECT_THAT(net.a.grad().to_doubles(), ElementsAre(0, 9 * value, 18 * value));
    EXPECT_THAT(net.b.grad().to_doubles(), ElementsAre(0, 9, 18));
    for (int r = 1; r < 3; ++r)
      EXPECT_THAT(dp.replica(r).b.to_doubles(), Each(value));
  }
}

TEST(AcceptanceTest, ModulesOfTheHostAndOfOthersRunInOneCall) {
  manual_seed(4);
  const std::vector<Device> here{
      testing::device(1), Device{DeviceType::cpu, 0}, testing::device(2)};
  nn::Linear net(3, 2, {.dtype = DType::f64});
  std::vector<nn::Linear> modules;
  std::vector<nn::Linear*> pointers;
  std::vector<std::tuple<Tensor>> inputs;
  const Tensor x = randn({4, 3}, f64());
  for (const Device d : here) {
    modules.push_back(nn::replicate(net, d));
    inputs.emplace_back(x.to(d));
  }
  for (nn::Linear& m : modules)
    pointers.push_back(&m);
  const auto outputs = parallel_apply(pointers, inputs, here);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(outputs[i].device(), here[i]);
    EXPECT_THAT(outputs[i].to_doubles(), near(net(x)));
  }
}

TEST(AcceptanceTest, AllDevicesAreTheDefault) {
  struct Restore {
    ~Restore() { configure_devices(list); }
    std::string list;
  };
  if (testing::on_gpus()) GTEST_SKIP() << "the list is the program's";
  configure_devices("cpu:3");
  const Restore restore{"cpu:1"};
  nn::Linear net(2, 2);
  DataParallel dp(net);
  EXPECT_EQ(dp.devices(), default_devices());
  ASSERT_EQ(dp.devices().size(), 3u);
  EXPECT_EQ(dp.plan(7).back(), (RowRange{5, 7}));
}

}  // namespace
}  // namespace tandem::parallel::test
