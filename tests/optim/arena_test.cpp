// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/optim/arena.hpp"

#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tandem/autograd/autograd.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/factories.hpp"

#include "devices.hpp"

namespace tandem::optim {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Device kHere = testing::device(0);

/// first, first + 1, ... as a leaf that requires grad.
Tensor counting(const Shape& shape, float first, Device device = kHere) {
  std::vector<float> values(static_cast<std::size_t>(numel(shape)));
  std::iota(values.begin(), values.end(), first);
  Tensor x = from_host<float>(values, shape, device);
  return x.requires_grad_();
}

std::size_t in_use(Category category, Device device = kHere) {
  return logical_device(device).memory_stats().by_category[static_cast<std::size_t>(category)];
}

std::uintptr_t address(const Tensor& x) {
  return reinterpret_cast<std::uintptr_t>(x.data());
}

TEST(ArenaLayout, AlignsEachTensorAndCountsThePadding) {
  const ArenaLayout layout(
      {{"a", counting({3, 5}, 0)}, {"b", counting({64}, 0)}, {"c", counting({65}, 0)}});

  ASSERT_EQ(layout.places().size(), 3u);
  EXPECT_EQ(layout.places()[0].offset, 0);
  EXPECT_EQ(layout.places()[1].offset, 64);   // 15 floats take one unit of 256 bytes
  EXPECT_EQ(layout.places()[2].offset, 128);  // 64 floats fill one
  EXPECT_EQ(layout.nbytes(), 4 * 256u);       // 65 floats need two
  EXPECT_EQ(layout.gradient_nbytes(), layout.nbytes());
}

TEST(ArenaLayout, SeparatesTypesGroupsAndFrozenTensors) {
  const Tensor frozen = zeros({2});
  const Tensor wide = zeros({2}, {.dtype = DType::f64}).requires_grad_();
  const ArenaLayout layout({{"a", counting({2}, 0), 0},
                            {"b", counting({2}, 0), 1},
                            {"wide", wide, 0},
                            {"frozen", frozen, 0},
                            {"c", counting({2}, 0), 0}});

  ASSERT_EQ(layout.blocks().size(), 4u);
  std::vector<int> blocks;
  for (const ArenaPlace& place : layout.places())
    blocks.push_back(place.block);
  EXPECT_THAT(blocks, ElementsAre(0, 1, 2, 3, 0));
  EXPECT_EQ(layout.blocks()[3].trains, Trains::no);
  EXPECT_EQ(layout.gradient_nbytes(), layout.nbytes() - 256);
}

TEST(ArenaLayout, AUnitHasBlocksOfItsOwn) {
  const Tensor a = counting({64}, 0), b = counting({3}, 0), c = counting({64}, 0);
  const ArenaLayout layout({{.name = "0.a", .tensor = a, .unit = 0},
                            {.name = "1.b", .tensor = b, .unit = 1},
                            {.name = "1.a", .tensor = a, .unit = 1},  // tied: stays in unit 0
                            {.name = "0.c", .tensor = c, .unit = 0}});
  ASSERT_EQ(layout.blocks().size(), 2u);
  EXPECT_THAT(layout.blocks_of(0), ElementsAre(0));
  EXPECT_THAT(layout.blocks_of(1), ElementsAre(1));
  EXPECT_EQ(layout.blocks()[0].numel, 128);
  EXPECT_EQ(layout.blocks()[1].unit, 1);
  EXPECT_EQ(layout.blocks()[1].numel, 64);
  EXPECT_THAT(layout.blocks_of(2), ::testing::IsEmpty());
}

TEST(ArenaLayout, PartsOfABlockHaveWholeTensors) {
  // In units of 64 elements: 1, 3, 2, 1, 1 in two parts: b and d of 4, and a, c, e of 4.
  const auto leaf = [](std::int64_t n) { return zeros({n}).requires_grad_(); };
  const std::vector<ArenaEntry> entries{
      {"a", leaf(64)}, {"b", leaf(192)}, {"c", leaf(128)}, {"d", leaf(60)}, {"e", leaf(1)}};
  const ArenaLayout layout(entries, {.multiple = 2 * 320, .parts = 2});
  EXPECT_TRUE(layout.keeps_tensors_whole());
  EXPECT_EQ(layout.blocks()[0].numel, 640);
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> found;
  for (const ArenaPlace& at : layout.places())
    found[at.name] = {at.offset, at.extent};
  using Found = std::map<std::string, std::pair<std::int64_t, std::int64_t>>;
  EXPECT_EQ(found,
            (Found{{"b", {0, 192}},
                   {"d", {192, 128}},
                   {"a", {320, 64}},
                   {"c", {384, 128}},
                   {"e", {512, 128}}}))
      << "the last one of a part is padded to its end";
  for (const std::size_t p : layout.place_indices())
    EXPECT_EQ(layout.places()[p].name, entries[layout.sources()[p]].name);
  EXPECT_TRUE(std::ranges::is_sorted(layout.places(), {}, &ArenaPlace::offset));
}

TEST(ArenaLayout, PartsWithoutTensorsArePadding) {
  const ArenaLayout layout({{"a", counting({70}, 0)}}, {.multiple = 3 * 64, .parts = 3});
  EXPECT_EQ(layout.blocks()[0].numel, 3 * 128);
  EXPECT_EQ(layout.places()[0].extent, 128);
}

TEST(ArenaLayout, SaysWhoseElementsOfABlockAre) {
  const auto leaf = [](std::int64_t n) { return zeros({n}).requires_grad_(); };
  const ArenaLayout layout(
      {{"a.weight", leaf(64)}, {"a.bias", leaf(10)}, {"b.c.weight", leaf(64)}, {"scale", leaf(1)}});
  const auto shares = [&](std::int64_t begin, std::int64_t end) {
    std::map<std::string, std::size_t> sums;
    const auto list = layout.module_shares(0, begin, end, 4);
    for (const auto& [path, nbytes] : *list)
      sums[path] += nbytes;
    return sums;
  };
  using Sums = std::map<std::string, std::size_t>;
  EXPECT_EQ(shares(0, 256), (Sums{{"a", 512}, {"b.c", 256}, {"", 256}})) << "padding included";
  EXPECT_EQ(shares(100, 130), (Sums{{"a", 112}, {"b.c", 8}}));
  EXPECT_EQ(layout.module_shares(1, 0, 256, 4)->size(), 0U) << "no such block";
}

TEST(ArenaLayout, RefusesATensorInTwoGroupsByBothNames) {
  const Tensor tied = counting({2}, 0);
  try {
    ArenaLayout({{"embed.weight", tied, 0}, {"head.weight", tied, 1}});
    FAIL() << "expected InvalidArgument";
  } catch (const InvalidArgument& e) {
    EXPECT_THAT(e.what(), HasSubstr("embed.weight"));
    EXPECT_THAT(e.what(), HasSubstr("head.weight"));
  }
}

TEST(ArenaLayout, KnowsDenseStrides) {
  EXPECT_TRUE(is_dense({2, 3}, {3, 1}));
  EXPECT_TRUE(is_dense({2, 3}, {1, 2}));
  EXPECT_TRUE(is_dense({2, 1, 3}, {3, 99, 1}));
  EXPECT_FALSE(is_dense({2, 3}, {6, 2}));
  EXPECT_FALSE(is_dense({2, 3}, {0, 1}));
}

TEST(Arena, KeepsIdentityValuesAndLayoutOfEachTensor) {
  Tensor a = counting({2, 3}, 1);
  Tensor b =
      counting({2, 2, 2, 2}, 10).detach().contiguous(MemoryFormat::channels_last).requires_grad_();
  const Tensor another_handle = a;
  const auto b_before = b.to_host<float>();

  const auto arena = Arena::bind({{"a", a}, {"b", b}});

  EXPECT_TRUE(another_handle.is(a));
  EXPECT_EQ(&another_handle.buffer(), &arena->params(0).buffer());
  EXPECT_THAT(another_handle.to_host<float>(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(b.to_host<float>(), b_before);
  EXPECT_TRUE(b.is_contiguous(MemoryFormat::channels_last));
  EXPECT_EQ(address(a) % 256, 0u);
  EXPECT_EQ(address(b), address(a) + 256);
  EXPECT_EQ(Arena::of(another_handle), arena);
}

TEST(Arena, MakesASparseTensorRowMajor) {
  Tensor x = counting({2, 6}, 0).detach().slice(1, {.step = 2}).requires_grad_();
  ASSERT_EQ(x.strides(), (Strides{6, 2}));

  const auto arena = Arena::bind({{"x", x}});

  EXPECT_EQ(x.strides(), (Strides{3, 1}));
  EXPECT_THAT(x.to_host<float>(), ElementsAre(0, 2, 4, 6, 8, 10));
}

TEST(Arena, HoldsATiedTensorOnce) {
  const Tensor tied = counting({4}, 0);
  const auto arena = Arena::bind({{"embed.weight", tied}, {"head.weight", tied}});

  ASSERT_EQ(arena->layout().places().size(), 1u);
  EXPECT_EQ(arena->layout().places()[0].name, "embed.weight");
}

TEST(Arena, PadsWithZeros) {
  const auto arena = Arena::bind({{"a", counting({3}, 1)}, {"b", counting({2}, 1)}});

  const auto flat = arena->params(0).to_host<float>();
  ASSERT_EQ(flat.size(), 128u);
  EXPECT_EQ(std::accumulate(flat.begin(), flat.end(), 0.f), 1 + 2 + 3 + 1 + 2);
  EXPECT_THAT(arena->grads(0).to_host<float>(), Each(0.f));
}

TEST(Arena, TakesOverGradientsAndGetsThoseOfBackward) {
  const Tensor a = counting({2}, 1);
  const Tensor b = counting({2}, 1);
  mul(a, 3.0).sum().backward();

  const auto arena = Arena::bind({{"a", a}, {"b", b}});
  EXPECT_FALSE(b.grad().defined());
  mul(b, 5.0).sum().backward();

  EXPECT_EQ(&a.grad().buffer(), &arena->grads(0).buffer());
  EXPECT_EQ(&b.grad().buffer(), &arena->grads(0).buffer());
  const auto flat = arena->grads(0).to_host<float>();
  EXPECT_EQ(flat[0], 3);
  EXPECT_EQ(flat[1], 3);
  EXPECT_EQ(flat[64], 5);
  EXPECT_EQ(flat[65], 5);
}

TEST(Arena, BytesOnTheDeviceAreThoseOfTheLayout) {
  const std::size_t parameters = in_use(Category::parameter);
  const std::size_t gradients = in_use(Category::gradient);
  const Tensor a = counting({100}, 1);

  auto arena = Arena::bind({{"a", a}});
  EXPECT_EQ(in_use(Category::parameter) - parameters, 512u);
  EXPECT_EQ(in_use(Category::gradient) - gradients, 512u);

  arena.reset();  // the tensor keeps its arena
  EXPECT_NE(Arena::of(a), nullptr);
}

TEST(Arena, LivesAsLongAsItsTensors) {
  const std::size_t before = logical_device(kHere).memory_stats().in_use;
  {
    const Tensor a = counting({100}, 1);
    Arena::bind({{"a", a}});
  }
  EXPECT_EQ(logical_device(kHere).memory_stats().in_use, before);
}

TEST(Arena, ChangesNothingWhereMemoryIsShort) {
  const Device device = testing::device(7);
  LogicalDevice& logical = logical_device(device);
  const Tensor a = counting({100}, 1, device);
  const Tensor b = counting({100}, 1, device);
  const Buffer* storage = &a.buffer();
  const std::size_t before = logical.memory_stats().in_use;
  const std::size_t needed = 4 * 512;  // values and gradients

  logical.set_limit(before + needed - 1);
  EXPECT_THROW(Arena::bind({{"a", a}, {"b", b}}), OutOfMemory);
  EXPECT_EQ(&a.buffer(), storage);
  EXPECT_EQ(Arena::of(a), nullptr);
  EXPECT_EQ(logical.memory_stats().in_use, before);

  logical.set_limit(before + needed);
  EXPECT_NO_THROW(Arena::bind({{"a", a}, {"b", b}}));
  logical.set_limit(SIZE_MAX);
}

TEST(Arena, NamesTensorsOnDifferentDevices) {
  try {
    Arena::bind({{"a", counting({2}, 0)}, {"b", counting({2}, 0, testing::device(1))}});
    FAIL() << "expected InvalidArgument";
  } catch (const InvalidArgument& e) {
    EXPECT_THAT(e.what(), HasSubstr("'a' is on " + testing::device_name(0)));
    EXPECT_THAT(e.what(), HasSubstr("'b' is on " + testing::device_name(1)));
  }
}

TEST(Arena, ReplicatesTheLayoutOnAnotherDevice) {
  const Device there = testing::device(1);
  const std::size_t before = in_use(Category::parameter, there);
  const Tensor a = counting({3}, 1);
  const Tensor frozen = zeros({5});
  const auto arena = Arena::bind({{"a", a}, {"frozen", frozen}});

  const ArenaReplica replica = arena->replicate(there);

  EXPECT_EQ(in_use(Category::parameter, there) - before, arena->layout().nbytes());
  ASSERT_EQ(replica.tensors.size(), 2u);
  EXPECT_EQ(replica.tensors[0].device(), there);
  EXPECT_TRUE(replica.tensors[0].requires_grad());
  EXPECT_FALSE(replica.tensors[1].requires_grad());
  EXPECT_EQ(replica.arena->layout().places()[1].offset, arena->layout().places()[1].offset);
  EXPECT_EQ(Arena::of(replica.tensors[0]), replica.arena);

  mul(replica.tensors[0], 2.0).sum().backward();
  EXPECT_EQ(replica.arena->grads(0).to_host<float>()[0], 2);
  EXPECT_FALSE(a.grad().defined());
  const autograd::NoGrad off;
  Tensor(replica.tensors[0]).fill_(9);
  EXPECT_THAT(a.to_host<float>(), ElementsAre(1, 2, 3));  // nothing is aliased
}

TEST(Arena, ObtainReusesTheArenaOfExactlyTheseTensors) {
  const Tensor a = counting({3}, 1);
  const Tensor b = counting({3}, 1);
  const auto pair = Arena::bind({{"a", a, 2}, {"b", b, 5}});

  EXPECT_EQ(Arena::obtain({{"b", b}, {"a", a}}), pair);
  const auto one = Arena::obtain({{"a", a}});
  EXPECT_NE(one, pair);
  EXPECT_EQ(one->layout().blocks()[0].group, 2);  // its group goes with it
  EXPECT_EQ(Arena::of(b), pair);
  EXPECT_FALSE(pair->tensor(0).defined());
}

TEST(Arena, NoticesStorageThatWasReplaced) {
  const Tensor a = counting({3}, 1);
  const auto arena = Arena::bind({{"a", a}});

  const Tensor elsewhere = a.detach().clone();
  a.impl().buffer = elsewhere.impl().buffer;

  EXPECT_EQ(Arena::of(a), nullptr);
}

TEST(Arena, GivesGradientsToUnfrozenTensors) {
  Tensor a = counting({3}, 1).detach().requires_grad_(false);
  const auto arena = Arena::bind({{"a", a}});
  EXPECT_FALSE(arena->grads(0).defined());

  a.requires_grad_();
  arena->ensure_gradients();
  mul(a, 4.0).sum().backward();

  EXPECT_EQ(arena->grads(0).to_host<float>()[2], 4);
  EXPECT_EQ(arena->layout().blocks()[0].trains, Trains::yes);
  EXPECT_TRUE(arena->replicate(testing::device(0)).arena->grads(0).defined());
}

}  // namespace
}  // namespace tandem::optim
