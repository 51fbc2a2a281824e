// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/nn/replicate.hpp"

#include <set>

#include <gmock/gmock.h>

#include "tandem/autograd/autograd.hpp"
#include "tandem/nn/linear.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/runtime/observer.hpp"

#include "devices.hpp"
#include "nn/toy.hpp"

namespace tandem::nn {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Device other() {
  return testing::device(1);
}

std::set<const void*> storages(Module& module) {
  std::set<const void*> all;
  visit_tensors(module,
                [&](const std::string&, Tensor& t, TensorKind) { all.insert(&t.buffer()); });
  return all;
}

TEST(ReplicateTest, CopyingSharesTensors) {
  toy::Net net;
  toy::Net copy = net;
  EXPECT_TRUE(copy.blocks[1].first.weight.is(net.blocks[1].first.weight));
  EXPECT_EQ(storages(copy), storages(net));
  copy.blocks[1].first.weight = tensor<double>({0, 0});
  EXPECT_THAT(net.blocks[1].first.weight.to_doubles(), ElementsAre(10, 11));
}

TEST(ReplicateTest, CloneOwnsEveryTensorAndTiedOnesStayTied) {
  toy::Net net;
  net.embed.weight.set_grad(tensor<double>({1, 1}));
  net.blocks[0].requires_grad_(false);
  toy::Net copy = clone(net);

  EXPECT_EQ(storages(copy).size(), storages(net).size());
  for (const void* storage : storages(copy))
    EXPECT_FALSE(storages(net).contains(storage));
  EXPECT_TRUE(copy.head.weight.is(copy.embed.weight));
  EXPECT_THAT(copy.head.weight.to_doubles(), ElementsAre(1, 2));
  EXPECT_FALSE(copy.embed.weight.grad().defined());
  EXPECT_TRUE(copy.embed.weight.requires_grad() && copy.embed.weight.is_leaf());
  EXPECT_FALSE(copy.blocks[0].first.weight.requires_grad());
  EXPECT_FALSE(copy.embed.steps.requires_grad());
  EXPECT_EQ(copy.embed.steps.dtype(), DType::i64);
}

TEST(ReplicateTest, NothingOfAReplicaIsAliased) {
  toy::Net net;
  net.eval();
  int calls = 0;
  net.register_forward_hook([&calls](const ForwardCall&) { ++calls; });
  toy::Net replica = replicate(net, other());

  visit_tensors(replica, [](const std::string& name, Tensor& t, TensorKind kind) {
    EXPECT_EQ(t.device(), other()) << name;
    EXPECT_EQ(t.buffer().category(),
              kind == TensorKind::parameter ? Category::parameter : Category::buffer)
        << name;
  });
  {
    const autograd::NoGrad off;
    for (Tensor& parameter : replica.parameters())
      parameter.fill_(-1);
  }
  EXPECT_THAT(net.blocks[0].second->weight.to_doubles(), ElementsAre(20, 21));
  EXPECT_FALSE(replica.is_training());
  replica(Tensor());
  EXPECT_EQ(calls, 1);
}

TEST(ReplicateTest, EveryDistinctTensorIsCopiedOnce) {
  struct Counter : Observer {
    std::size_t nbytes = 0;
    void on_copy(const CopyEvent& event) noexcept override { nbytes += event.nbytes; }
  } counter;
  const toy::Net net;
  const Subscription subscription(counter);
  replicate(net, other());
  // 5 distinct weights of two f64, 6 counters of one i64, one scale in f32
  EXPECT_EQ(counter.nbytes, 5u * 16 + 6 * 8 + 4);
}

TEST(ReplicateTest, ToMovesInPlaceWithGradients) {
  toy::Net net;
  const Tensor handle = net.embed.weight;
  handle.set_grad(tensor<double>({3, 4}));
  net.to(other());
  EXPECT_EQ(handle.device(), other());
  EXPECT_TRUE(handle.is(net.head.weight));
  EXPECT_EQ(handle.grad().device(), other());
  EXPECT_THAT(handle.grad().to_doubles(), ElementsAre(3, 4));
  EXPECT_TRUE(handle.requires_grad());
  EXPECT_EQ(net.scales.at("a").device(), other());
}

TEST(ReplicateTest, OnlyARealMoveTakesATensorOutOfItsArena) {
  struct Arena : StorageHome {};
  toy::Cell cell;
  const auto home = std::make_shared<Arena>();
  cell.weight.impl().home = home;
  const Tensor storage = zeros({2}, {.dtype = DType::f64});
  autograd::bind_gradient(cell.weight, storage);

  cell.to(get_default_device());
  EXPECT_EQ(cell.weight.impl().home, home);
  cell.weight.set_grad(ones({2}, {.dtype = DType::f64}));
  EXPECT_EQ(&cell.weight.grad().buffer(), &storage.buffer());

  cell.to(other());
  EXPECT_EQ(cell.weight.impl().home, nullptr);
  EXPECT_EQ(cell.weight.grad().device(), other());
  EXPECT_THAT(cell.weight.grad().to_doubles(), ElementsAre(1, 1));
}

TEST(ReplicateTest, ToADtypeConvertsFloatsOnly) {
  toy::Net net;
  net.embed.weight.set_grad(tensor<double>({3, 4}));
  net.to(DType::f32);
  EXPECT_EQ(net.embed.weight.dtype(), DType::f32);
  EXPECT_EQ(net.embed.weight.grad().dtype(), DType::f32);
  EXPECT_EQ(net.embed.steps.dtype(), DType::i64);
  EXPECT_THAT(net.blocks[0].first.weight.to_doubles(), ElementsAre(10, 11));
  EXPECT_THROW(net.to(DType::i64), InvalidArgument);
}

/// `forgotten` is not listed, so it stays where it was.
struct Forgetful : Module {
  Linear listed{2, 2}, forgotten{2, 2};
  Tensor forward(const Tensor& x) { return forgotten(listed(x)); }
  TANDEM_MODULE(Forgetful, listed)
};

TEST(ReplicateTest, AMemberLeftOutIsNamedAtItsFirstUse) {
  const Forgetful net;
  Forgetful replica = replicate(net, other());
  try {
    replica(ones({1, 2}, {.device = other()}));
    FAIL();
  } catch (const InvalidArgument& e) {
    EXPECT_THAT(e.what(),
                AllOf(HasSubstr(testing::device_name(0)),
                      HasSubstr(testing::device_name(1)),
                      HasSubstr("module Linear"),
                      HasSubstr("list it in TANDEM_MODULE")));
  }
}

}  // namespace
}  // namespace tandem::nn
