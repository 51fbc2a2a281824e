// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/nn/module.hpp"

#include <gmock/gmock.h>

#include "tandem/nn/replicate.hpp"
#include "tandem/runtime/runtime.hpp"

#include "nn/toy.hpp"

namespace tandem::nn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using toy::Cell;
using toy::Net;
using toy::Twin;

std::vector<std::string> names(const std::vector<NamedTensor>& all) {
  std::vector<std::string> result;
  for (const NamedTensor& entry : all)
    result.push_back(entry.name);
  return result;
}

struct Outer : Module {
  Cell listed;
  Twin left_out;
  Tensor forward(const Tensor& x) { return left_out(listed(x)); }
  TANDEM_MODULE(Outer, listed)
};

struct Faulty : Module {
  Cell cell;
  std::uint64_t seen = 0;
  void forward(int fail) {
    cell(Tensor());
    seen = context().frame->forward;
    if (fail != 0) throw InvalidArgument("no");
  }
  TANDEM_MODULE(Faulty, cell)
};

struct Reader : Module {
  std::uint64_t forward() { return context().frame->forward; }
  TANDEM_MODULE(Reader)
};

struct Overloaded : Module {
  int value = 3;
  int& forward(int) { return value; }
  double forward(double x) { return x; }
  std::unique_ptr<int> forward(std::unique_ptr<int> p) { return p; }
  TANDEM_MODULE(Overloaded)
};

TEST(ModuleTest, ParametersAreNamedByTheListAndTiedOnesComeOnce) {
  const Net net;
  EXPECT_THAT(names(net.named_parameters()),
              ElementsAre("embed.weight",
                          "blocks.0.first.weight",
                          "blocks.0.second.weight",
                          "blocks.1.first.weight",
                          "blocks.1.second.weight",
                          "scales.a"));
  EXPECT_EQ(net.parameters().size(), 6u);
  EXPECT_THAT(names(net.named_buffers()),
              ElementsAre("embed.steps",
                          "blocks.0.first.steps",
                          "blocks.0.second.steps",
                          "blocks.1.first.steps",
                          "blocks.1.second.steps",
                          "head.steps"));
}

TEST(ModuleTest, VisitTensorsShowsEveryPlaceAndCanReplaceIt) {
  Net net;
  std::vector<std::string> places;
  const Tensor other = tensor({9.f});
  visit_tensors(net, [&](const std::string& name, Tensor& t, TensorKind kind) {
    if (kind != TensorKind::parameter) return;
    places.push_back(name);
    if (name == "head.weight") t = other;
  });
  EXPECT_THAT(places,
              ElementsAre("embed.weight",
                          "blocks.0.first.weight",
                          "blocks.0.second.weight",
                          "blocks.1.first.weight",
                          "blocks.1.second.weight",
                          "scales.a",
                          "head.weight"));
  EXPECT_TRUE(net.head.weight.is(other));
  EXPECT_FALSE(net.embed.weight.is(other));
}

TEST(ModuleTest, KindsAreKnownByType) {
  const Cell cell;
  EXPECT_TRUE(cell.weight.requires_grad());
  EXPECT_EQ(cell.weight.buffer().category(), Category::parameter);
  EXPECT_FALSE(cell.steps.requires_grad());
  EXPECT_EQ(cell.steps.buffer().category(), Category::buffer);
  EXPECT_THROW(Parameter(tensor<std::int64_t>({1})), InvalidArgument);
}

TEST(ModuleTest, ModulesAreListedParentsFirst) {
  Net net;
  std::vector<std::string> found;
  for (const auto& [name, module] : net.named_modules()) {
    found.push_back(name + ":" + module->type_name());
  }
  EXPECT_THAT(found,
              ElementsAre(":Net",
                          "embed:Cell",
                          "blocks.0:Twin",
                          "blocks.0.first:Cell",
                          "blocks.0.second:Cell",
                          "blocks.1:Twin",
                          "blocks.1.first:Cell",
                          "blocks.1.second:Cell",
                          "head:Cell"));
  EXPECT_EQ(net.modules().front(), &net);
  EXPECT_EQ(net.children().size(), 4u);
  EXPECT_EQ(net.children()[1].module, &net.blocks[0]);

  std::vector<std::string> order;
  net.blocks[0].apply([&](Module& module) { order.emplace_back(module.type_name()); });
  EXPECT_THAT(order, ElementsAre("Cell", "Cell", "Twin"));
}

TEST(ModuleTest, CallsSeeThePathOfTheStateDict) {
  Net net;
  net(Tensor());
  EXPECT_EQ(net.embed.seen_path, "embed");
  EXPECT_EQ(net.blocks[1].second->seen_path, "blocks.1.second");
  EXPECT_EQ(net.head.seen_path, "head");
  EXPECT_EQ(context().module_path, nullptr) << "the path is taken off again";

  net.blocks.insert(net.blocks.begin(), Twin());
  net(Tensor());
  EXPECT_EQ(net.blocks[2].second->seen_path, "blocks.2.second") << "named anew";
  net.blocks[2](Tensor());
  EXPECT_EQ(net.blocks[2].second->seen_path, "second") << "a part called by itself is a root";
  net(Tensor());
  EXPECT_EQ(net.blocks[2].second->seen_path, "blocks.2.second");
}

TEST(ModuleTest, AModuleThatIsNoMemberIsNamedAfterItsClass) {
  Outer outer;
  outer(Tensor());
  EXPECT_EQ(outer.left_out.first.seen_path, "Twin.first");
}

TEST(ModuleTest, ForwardsCountTopLevelTrainingCallsThatEndedWell) {
  manual_seed(5);
  Faulty module;
  module(0);
  EXPECT_EQ(default_generator().forwards(), 1u) << "the inner call counts as part of it";
  EXPECT_THROW(module(1), InvalidArgument);
  EXPECT_EQ(default_generator().forwards(), 1u);
  EXPECT_EQ(module.seen, 1u);
  module.eval();
  module(0);
  EXPECT_EQ(default_generator().forwards(), 1u);
  module.train();
  module(0);
  EXPECT_EQ(default_generator().forwards(), 2u);
}

TEST(ModuleTest, AFrameThatIsThereStays) {
  manual_seed(5);
  auto frame = std::make_shared<ForwardFrame>();
  frame->forward = 41;
  const ContextScope scope([&](Context& c) { c.frame = frame; });
  EXPECT_EQ(Reader()(), 41u);
  EXPECT_EQ(default_generator().forwards(), 0u) << "its owner counts";
}

TEST(ModuleTest, CallsPassReferencesAndChooseOverloads) {
  Overloaded m;
  m(1) = 4;
  EXPECT_EQ(m.value, 4);
  EXPECT_EQ(m(0.5), 0.5);
  EXPECT_EQ(*m(std::make_unique<int>(7)), 7);
  static_assert(!std::is_invocable_v<Overloaded&, std::string>);
  static_assert(std::is_same_v<std::invoke_result_t<Overloaded&, int>, int&>);
}

TEST(ModuleTest, HooksSeePathRowsAndTensors) {
  Net net;
  std::vector<std::string> log;
  const Tensor x = tensor({1.f});
  auto hook = [&log, &x](const char* when) {
    return [&log, &x, when](const ForwardCall& call) {
      log.push_back(std::string(when) + ' ' + call.module.type_name() + ' ' + call.path);
      ASSERT_EQ(call.tensors.size(), 1u);
      EXPECT_TRUE(call.tensors[0].is(x));
      EXPECT_EQ(context().rows.begin, 8);
    };
  };
  net.head.register_forward_pre_hook(hook("before"));
  const int id = net.head.register_forward_hook(hook("after"));
  net.register_forward_hook(hook("after"));
  const ContextScope rows([](Context& c) { c.rows = {8, 16}; });

  net(x);
  EXPECT_THAT(log, ElementsAre("before Cell head", "after Cell head", "after Net "));
  log.clear();
  Net copy = net;
  net.head.remove_hook(id);
  net(x);
  EXPECT_THAT(log, ElementsAre("before Cell head", "after Net "));
  log.clear();
  copy(x);
  EXPECT_EQ(log.size(), 3u) << "copied with the module";
}

TEST(ModuleTest, TrainAndEvalReachEveryModule) {
  Net net;
  EXPECT_TRUE(net.blocks[1].second->is_training());
  net.eval();
  for (const Module* module : net.modules())
    EXPECT_FALSE(module->is_training());
  const Net copy = net;
  EXPECT_FALSE(copy.is_training());
  net.blocks[0].train();
  EXPECT_TRUE(net.blocks[0].first.is_training());
  EXPECT_FALSE(net.head.is_training());
}

TEST(ModuleTest, GradientsAreClearedAndFrozenByModule) {
  Net net;
  net.embed.weight.set_grad(tensor({1.0, 2.0}));
  net.zero_grad();
  EXPECT_FALSE(net.embed.weight.grad().defined());
  net.blocks[0].requires_grad_(false);
  EXPECT_FALSE(net.blocks[0].first.weight.requires_grad());
  EXPECT_TRUE(net.blocks[1].first.weight.requires_grad());
}

}  // namespace
}  // namespace tandem::nn
