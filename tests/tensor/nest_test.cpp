// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/tensor/nest.hpp"

#include <cmath>
#include <memory>
#include <vector>

#include <gmock/gmock.h>

namespace tandem {
namespace {

/// A tensor of another library.
struct Card {
  int value = 0;
};

}  // namespace

template <>
inline constexpr bool is_foreign_tensor<Card> = true;

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Leaves are told apart by identity, so they need no data.
Tensor leaf() {
  return Tensor(std::make_shared<TensorImpl>());
}

struct Inner {
  Tensor mask;
  std::optional<Tensor> bias;
  TANDEM_FIELDS(mask, bias)
};

enum class Style : std::uint8_t { plain, fancy };

struct Batch {
  Tensor x;
  std::vector<Inner> parts;
  std::map<std::string, std::pair<Tensor, double>> named;
  std::array<Tensor, 2> two;
  std::tuple<int, std::string> rest{7, "seven"};
  Style style = Style::fancy;
  TANDEM_FIELDS(x, parts, named, two, rest, style)
};

struct Tree {
  Tensor value;
  std::vector<Tree> below;
  TANDEM_FIELDS(value, below)
};

struct Opaque {
  Tensor x;
};

struct Holder {
  Opaque opaque;
  TANDEM_FIELDS(opaque)
};

static_assert(TensorNest<Tensor> && TensorNest<const Tensor&> && TensorNest<bool> &&
              TensorNest<double> && TensorNest<Style>);
static_assert(TensorNest<Batch> && TensorNest<Tree> && TensorNest<std::vector<bool>>);
static_assert(TensorNest<std::tuple<>> && TensorNest<std::map<int, Batch>> &&
              TensorNest<std::optional<std::array<Inner, 3>>>);
static_assert(!TensorNest<Opaque> && !TensorNest<Tensor*> && !TensorNest<const char*>);
static_assert(!TensorNest<std::vector<Opaque>> &&
              !TensorNest<std::optional<std::pair<int, Opaque>>>);
static_assert(!TensorNest<std::map<std::string, Opaque>> &&
              !TensorNest<std::map<std::pair<int, int>, int>>);
static_assert(std::is_aggregate_v<Batch>, "TANDEM_FIELDS leaves braces and designators usable");

Batch batch(const std::vector<Tensor>& t) {
  return {.x = t[0],
          .parts = {{t[1], t[2]}, {t[3], std::nullopt}},
          .named = {{"a", {t[4], 0.5}}},
          .two = {t[5], t[6]}};
}

std::vector<Tensor> seven() {
  std::vector<Tensor> t;
  for (int i = 0; i < 7; ++i)
    t.push_back(leaf());
  return t;
}

TEST(NestTest, LeavesComeInOrderOfDeclarationAtAnyDepth) {
  const std::vector<Tensor> t = seven();
  const Batch b = batch(t);

  EXPECT_EQ(count_leaves(b), 7u);
  const std::vector<Tensor> found = leaves(b);
  ASSERT_EQ(found.size(), 7u);
  for (std::size_t i = 0; i < 7; ++i)
    EXPECT_TRUE(found[i].is(t[i])) << "leaf " << i;
}

TEST(NestTest, LeavesCanBeReplacedInPlace) {
  std::vector<std::pair<int, Tensor>> value{{1, leaf()}, {2, leaf()}};
  const Tensor other = leaf();
  for_each_leaf(value, [&](Tensor& x) { x = other; });
  EXPECT_TRUE(value[0].second.is(other));
  EXPECT_TRUE(value[1].second.is(other));
}

TEST(NestTest, EmptyContainersHaveNoLeaves) {
  EXPECT_EQ(count_leaves(std::vector<Batch>{}), 0u);
  EXPECT_EQ(count_leaves(std::optional<Tensor>{}), 0u);
  EXPECT_EQ(count_leaves(std::map<int, Tensor>{}), 0u);
  EXPECT_EQ(count_leaves(std::tuple<>{}), 0u);
  EXPECT_EQ(count_leaves(std::array<Tensor, 0>{}), 0u);
  EXPECT_EQ(count_leaves(std::string("text")), 0u);
  EXPECT_EQ(count_leaves(Tensor{}), 1u) << "an undefined tensor is a leaf";
}

TEST(NestTest, AStructMayHoldItself) {
  const Tree tree{leaf(), {{leaf(), {}}, {leaf(), {{leaf(), {}}}}}};
  EXPECT_EQ(count_leaves(tree), 4u);
}

TEST(NestTest, NumbersAreSeenWithTheirOwnType) {
  std::vector<double> numbers;
  int integers = 0;
  const std::tuple<int, std::vector<bool>, std::map<int, float>, std::string> value{
      3, {true, false}, {{9, 0.5f}}, "4"};
  for_each_number(value, [&](auto number) {
    numbers.push_back(static_cast<double>(number));
    integers += std::is_same_v<decltype(number), int>;
  });
  EXPECT_THAT(numbers, ElementsAre(3, 1, 0, 9, 0.5));
  EXPECT_EQ(integers, 2);
}

TEST(NestTest, ConstantsTellValuesApart) {
  EXPECT_THAT(constants(batch(seven())), ElementsAre("a", "0.5", "7", "seven", "1"));
  EXPECT_EQ(constants(NAN), constants(NAN));
  EXPECT_NE(constants(0.1), constants(std::nextafter(0.1, 1.0)));
  EXPECT_NE(constants(0.1f), constants(std::nextafter(0.1f, 1.0f)));
  EXPECT_NE(constants((1LL << 53)), constants((1LL << 53) + 1));
}

TEST(NestTest, MapLeavesLeavesTheOriginalAlone) {
  const std::vector<Tensor> t = seven();
  const Batch b = batch(t);
  const Tensor other = leaf();
  const Batch mapped = map_leaves(b, [&](const Tensor&) { return other; });

  for (const Tensor& x : leaves(mapped))
    EXPECT_TRUE(x.is(other));
  EXPECT_TRUE(b.parts[0].bias->is(t[2]));
  EXPECT_EQ(constants(mapped), constants(b));
}

TEST(NestTest, ScatterGivesEveryCopyItsPartOfEveryLeaf) {
  const std::pair<Tensor, std::vector<Tensor>> value{leaf(), {leaf()}};
  std::vector<std::vector<Tensor>> given;
  const auto copies = scatter_leaves(value, 3, [&](const Tensor&) {
    return given.emplace_back(std::vector<Tensor>{leaf(), leaf(), leaf()});
  });

  ASSERT_EQ(copies.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(copies[i].first.is(given[0][i])) << "copy " << i;
    EXPECT_TRUE(copies[i].second[0].is(given[1][i])) << "copy " << i;
  }
  EXPECT_THROW(scatter_leaves(value, 2, [&](const Tensor&) { return std::vector<Tensor>(3); }),
               InvalidArgument);
}

TEST(NestTest, GatherJoinsColumnsIntoTheFirst) {
  using Value = std::pair<std::vector<Tensor>, int>;
  const std::vector<Value> parts{{{leaf(), leaf()}, 5}, {{leaf(), leaf()}, 6}};
  const Tensor joined = leaf();
  std::vector<std::vector<Tensor>> columns;
  const Value whole =
      gather_leaves(std::span<const Value>(parts), [&](const std::vector<Tensor>& column) {
        columns.push_back(column);
        return joined;
      });

  ASSERT_EQ(columns.size(), 2u);
  EXPECT_TRUE(columns[1][0].is(parts[0].first[1]));
  EXPECT_TRUE(columns[1][1].is(parts[1].first[1]));
  EXPECT_TRUE(whole.first[0].is(joined) && whole.first[1].is(joined));
  EXPECT_EQ(whole.second, 5);
}

TEST(NestTest, GatherNamesThePartWithAnotherNumberOfTensors) {
  const std::vector<std::vector<Tensor>> parts{{leaf(), leaf()}, {leaf(), leaf()}, {leaf()}};
  try {
    gather_leaves(std::span<const std::vector<Tensor>>(parts),
                  [](const std::vector<Tensor>& column) { return column[0]; });
    FAIL();
  } catch (const InvalidArgument& e) {
    EXPECT_THAT(e.what(), HasSubstr("part 2 holds 1 tensors, but part 0 holds 2"));
  }
}

struct Hand {
  Card first;
  std::vector<Hand> others;
  std::map<int, std::pair<std::string, std::optional<Card>>> named;
  TANDEM_FIELDS(first, others, named)
};

static_assert(TensorNest<Card> && TensorNest<Hand> && LeafTensor<const Card&> && !LeafTensor<Hand>);
static_assert(std::same_as<NestLeaf<Hand>, Card> && std::same_as<NestLeaf<const Tree>, Tensor>);
static_assert(std::same_as<NestLeaf<std::tuple<int, std::pair<double, Card>, std::tuple<>>>, Card>);
static_assert(std::same_as<NestLeaf<std::array<std::optional<Card>, 2>>, Card>);
static_assert(std::same_as<NestLeaf<std::vector<bool>>, Tensor> &&
              std::same_as<NestLeaf<Opaque>, Tensor>);

Hand hand() {
  return {{1}, {{{2}, {}, {}}}, {{5, {"a", Card{3}}}, {6, {"b", std::nullopt}}}};
}

std::vector<int> values_of(const Hand& cards) {
  std::vector<int> values;
  for (const Card& card : leaves(cards))
    values.push_back(card.value);
  return values;
}

TEST(ForeignNestTest, LeavesAreFoundAndReplaced) {
  Hand cards = hand();
  EXPECT_EQ(count_leaves(cards), 3u);
  EXPECT_THAT(values_of(cards), ElementsAre(1, 2, 3));
  EXPECT_THAT(constants(cards), ElementsAre("5", "a", "6", "b"));
  EXPECT_THAT(values_of(map_leaves(cards, [](const Card& x) { return Card{x.value * 10}; })),
              ElementsAre(10, 20, 30));
  for_each_leaf(cards, [](Card& x) { x.value += 1; });
  EXPECT_THAT(values_of(cards), ElementsAre(2, 3, 4));
}

TEST(ForeignNestTest, LeavesAreScatteredAndGathered) {
  const std::vector<Hand> copies = scatter_leaves(hand(), 2, [](const Card& x) {
    return std::vector<Card>{{x.value}, {x.value * 10}};
  });
  EXPECT_THAT(values_of(copies[0]), ElementsAre(1, 2, 3));
  EXPECT_THAT(values_of(copies[1]), ElementsAre(10, 20, 30));
  const Hand sums = gather_leaves(
      std::span<const Hand>(copies),
      [](const std::vector<Card>& column) { return Card{column[0].value + column[1].value}; });
  EXPECT_THAT(values_of(sums), ElementsAre(11, 22, 33));
}

TEST(ForeignNestTest, LeavesOfOneLibraryCanBeVisited) {
  std::pair<Card, Tensor> both{{7}, leaf()};
  const Tensor other = leaf();
  EXPECT_EQ(count_leaves(both), 2u);
  for_each_leaf<Tensor>(both, [&](Tensor& x) { x = other; });
  for_each_leaf<Card>(both, [](Card& x) { x.value = 8; });
  EXPECT_TRUE(both.second.is(other));
  EXPECT_EQ(both.first.value, 8);
}

}  // namespace
}  // namespace tandem
