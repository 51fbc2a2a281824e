// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/nn/module_list.hpp"

#include <gmock/gmock.h>

#include "tandem/nn/linear.hpp"
#include "tandem/nn/module_dict.hpp"
#include "tandem/nn/replicate.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/factories.hpp"

#include "devices.hpp"
#include "thrown_text.hpp"

namespace tandem::nn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::thrown_text;

struct ListNet : Module {
  ModuleList<Linear> blocks;
  ModuleDict<Linear> heads;
  ListNet() {
    for (int i = 0; i < 2; ++i)
      blocks.emplace_back(3, 3);
    heads.insert("size", Linear(3, 2, {.bias = false}));
    heads.insert("age", Linear(3, 1));
  }
  Tensor forward(Tensor x) {
    for (Linear& block : blocks)
      x = block(x);
    return heads["age"](x);
  }
  TANDEM_MODULE(ListNet, blocks, heads)
};

TEST(ModuleList, NamesArePyTorchs) {
  const ListNet net;
  std::vector<std::string> names;
  for (const NamedTensor& p : net.named_parameters())
    names.push_back(p.name);
  EXPECT_THAT(names,
              ElementsAre("blocks.0.weight",
                          "blocks.0.bias",
                          "blocks.1.weight",
                          "blocks.1.bias",
                          "heads.size.weight",
                          "heads.age.weight",
                          "heads.age.bias"));
}

TEST(ModuleList, WorksAsAReplicaAndAsAClone) {
  manual_seed(1);
  ListNet net;
  const Tensor x = ones({2, 3});
  const std::vector<double> y = net(x).to_doubles();
  ListNet copy = clone(net);
  copy.load_state_dict(net.state_dict());
  const Device there = testing::device(1);
  ListNet replica = replicate(net, there);
  EXPECT_EQ(copy(x).to_doubles(), y);
  EXPECT_EQ(replica(x.to(there)).to_doubles(), y);
  EXPECT_FALSE(copy.blocks[1].weight.is(net.blocks[1].weight));
}

TEST(ModuleList, IsARange) {
  ModuleList<Linear> list{Linear(1, 2), Linear(2, 3)};
  list.push_back(Linear(3, 4));
  EXPECT_EQ(list.size(), 3u);
  EXPECT_EQ(list[2].weight.shape(), Shape({4, 3}));
  EXPECT_THROW(list[3], std::out_of_range);
  EXPECT_TRUE(ModuleList<Linear>().empty());
}

TEST(ModuleDict, RefusesNamesThatTheStateDictCouldNotHold) {
  ModuleDict<Linear> dict;
  dict.insert("a", Linear(1, 1));
  dict.insert("b", Linear(1, 1));
  EXPECT_THAT(thrown_text([&] { dict.insert("a", Linear(1, 1)); }),
              HasSubstr("already a module 'a'"));
  EXPECT_THAT(thrown_text([&] { dict.insert("a.b", Linear(1, 1)); }), HasSubstr("without dots"));
  EXPECT_THAT(thrown_text([&] { dict["c"]; }),
              HasSubstr("there is no module 'c'; the modules are a, b"));
  EXPECT_TRUE(dict.contains("b"));
  EXPECT_EQ(dict.size(), 2u);
}

}  // namespace
}  // namespace tandem::nn
