// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/nn/state_dict.hpp"

#include <gmock/gmock.h>

#include "tandem/nn/linear.hpp"
#include "tandem/ops/arithmetic.hpp"

#include "devices.hpp"
#include "nn/toy.hpp"

namespace tandem::nn {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> names(const StateDict& state) {
  std::vector<std::string> result;
  for (const NamedTensor& entry : state)
    result.push_back(entry.name);
  return result;
}

TEST(StateDictTest, HoldsEveryNameOffTheTapeOverTheSameStorage) {
  const toy::Net net;
  const StateDict state = net.state_dict();
  EXPECT_THAT(names(state),
              ElementsAre("embed.weight",
                          "embed.steps",
                          "blocks.0.first.weight",
                          "blocks.0.first.steps",
                          "blocks.0.second.weight",
                          "blocks.0.second.steps",
                          "blocks.1.first.weight",
                          "blocks.1.first.steps",
                          "blocks.1.second.weight",
                          "blocks.1.second.steps",
                          "scales.a",
                          "head.weight",
                          "head.steps"));
  EXPECT_FALSE(state.at("embed.weight").requires_grad());
  EXPECT_EQ(state.at("head.weight").data(), net.embed.weight.data());
  EXPECT_THROW(state.at("tail.weight"), InvalidArgument);
}

TEST(StateDictTest, RoundTripGivesTheValuesAndKeepsTheTensors) {
  toy::Net source, target;
  source.blocks[1].second->weight = tensor<double>({7, 8});
  source.head.steps = tensor<std::int64_t>({41});
  const Tensor before = target.blocks[1].second->weight;

  const LoadReport report = target.load_state_dict(source.state_dict());
  EXPECT_TRUE(report.missing.empty() && report.unexpected.empty());
  EXPECT_TRUE(target.blocks[1].second->weight.is(before));
  EXPECT_THAT(before.to_doubles(), ElementsAre(7, 8));
  EXPECT_TRUE(before.requires_grad());
  EXPECT_NE(before.data(), source.blocks[1].second->weight.data());
  EXPECT_THAT(target.head.steps.to_doubles(), ElementsAre(41));
}

TEST(StateDictTest, LoadingConvertsToTheModulesDtypeAndDevice) {
  Linear target(2, 1, {.dtype = DType::f64, .device = testing::device(1)});
  StateDict state;
  state.set("weight", tensor({0.5f, 2.f}).reshape({1, 2}));
  state.set("bias", tensor<std::int64_t>({3}));
  target.load_state_dict(state);
  EXPECT_EQ(target.weight.describe(), "f64 (1, 2) on " + testing::device_name(1));
  EXPECT_THAT(target.weight.to_doubles(), ElementsAre(0.5, 2));
  EXPECT_THAT(target.bias.to_doubles(), ElementsAre(3));
}

TEST(StateDictTest, ErrorsListAllNamesAndChangeNothing) {
  toy::Net net;
  StateDict state = toy::Net().state_dict();
  state.set("embed.weight", tensor<double>({100, 100}));  // fits, but must not be loaded
  state.erase("blocks.0.first.steps");
  state.erase("scales.a");
  state.set("extra.one", tensor({1.f}));
  state.set("extra.two", tensor({1.f}));
  state.set("head.steps", tensor<std::int64_t>({1, 2}));
  state.set("blocks.1.first.weight", Tensor());
  try {
    net.load_state_dict(state);
    FAIL();
  } catch (const InvalidArgument& e) {
    EXPECT_THAT(
        e.what(),
        AllOf(HasSubstr("does not fit Net"),
              HasSubstr("2 missing (blocks.0.first.steps, scales.a)"),
              HasSubstr("2 unexpected (extra.one, extra.two)"),
              HasSubstr("2 of the wrong shape (blocks.1.first.weight: undefined in the dict, "
                        "head.steps: (2) in the dict, (1) in the module)")));
  }
  EXPECT_THAT(net.embed.weight.to_doubles(), ElementsAre(1, 2));
}

TEST(StateDictTest, ErrorsListTenNamesOfEachKind) {
  toy::Net net;
  StateDict state = net.state_dict();
  for (int i = 0; i < 40; ++i)
    state.set("extra." + std::to_string(i), tensor({1.f}));
  try {
    net.load_state_dict(state);
    FAIL();
  } catch (const InvalidArgument& e) {
    EXPECT_THAT(e.what(),
                AllOf(HasSubstr("40 unexpected (extra.0, "), HasSubstr("extra.9 and 30 more)")));
  }
}

// Each name is found at once: by a search through all of them this takes minutes.
TEST(StateDictTest, HundredsOfThousandsOfNames) {
  constexpr int kNames = 300'000;
  const Tensor x = tensor({1.f});
  StateDict state;
  for (int i = 0; i < kNames; ++i)
    state.set(std::to_string(i), x);
  for (int i = 0; i < kNames; ++i)
    EXPECT_TRUE(state.contains(std::to_string(i)));
  EXPECT_EQ(state.size(), static_cast<std::size_t>(kNames));
}

TEST(StateDictTest, ErasedNamesLeaveTheOthersInOrder) {
  StateDict state;
  for (const char* name : {"a", "b", "c"})
    state.set(name, tensor({1.f}));
  state.erase("a");
  state.erase("none");
  state.set("c", tensor({2.f}));
  state.set("a", tensor({3.f}));
  EXPECT_THAT(names(state), ElementsAre("b", "c", "a"));
  EXPECT_EQ(state.at("c").item(), 2);
}

TEST(StateDictTest, NotStrictPassesOverNamesButNotShapes) {
  toy::Cell cell;
  StateDict state;
  state.set("weight", tensor<double>({5, 6}));
  state.set("other", tensor({1.f}));
  const LoadReport report = cell.load_state_dict(state, Strict::no);
  EXPECT_THAT(report.missing, ElementsAre("steps"));
  EXPECT_THAT(report.unexpected, ElementsAre("other"));
  EXPECT_THAT(cell.weight.to_doubles(), ElementsAre(5, 6));

  state.set("weight", tensor<double>({5, 6, 7}));
  try {
    cell.load_state_dict(state, Strict::no);
    FAIL();
  } catch (const InvalidArgument& e) {
    EXPECT_THAT(e.what(),
                AllOf(HasSubstr("(3) in the dict, (2) in the module"), Not(HasSubstr("missing"))));
  }
}

}  // namespace
}  // namespace tandem::nn
