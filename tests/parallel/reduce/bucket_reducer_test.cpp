// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/reduce/bucket_reducer.hpp"

#include <limits>
#include <string>

#include <gmock/gmock.h>

#include "parallel/engine.hpp"

namespace tandem::parallel::test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Used = GradientTally::Used;

/// Reducers of two replicas of Affine, whose bias (place 1) is bucket 0 and weight bucket 1.
struct Reducers : TestReplicas {
  explicit Reducers(Reduction reduction = {})
      : TestReplicas(2), parameters(replicas, rules, {1, 1}) {
    for (const auto& arena : parameters.arenas())
      list_of.push_back(
          std::make_unique<BucketReducer>(arena, parameters.gradient_buckets(), reduction));
  }

  /// Prepares each device's reducer and runs `f` on its thread.
  void reduce(const std::function<void(BucketReducer&, Affine&, int device)>& f,
              std::int64_t backwards = 1,
              Used used = Used::fresh) {
    run(make_call({{0, 1}, {1, 2}}), Phase::backward, [&](Call&, Call::Part& part) {
      BucketReducer& reducer = of(part.index());
      reducer.arm({part.comm}, backwards, used);
      reducer.begin_backward();
      f(reducer, module_of(part), part.index());
    });
  }
  /// Makes a gradient of these values.
  static void make(BucketReducer& reducer, const Tensor& x, std::size_t place, double value) {
    x.set_grad(full(x.shape(), value, {.dtype = DType::f64, .device = x.device()}));
    reducer.on_gradient(place);
  }
  BucketReducer& of(int device) { return *list_of[static_cast<std::size_t>(device)]; }
  std::vector<double> gradient(int device, std::size_t place) {
    return parameters.arenas()[static_cast<std::size_t>(device)]->gradient(place).to_doubles();
  }

  ModuleParameters parameters;
  std::vector<std::unique_ptr<BucketReducer>> list_of;
};

void make_both(BucketReducer& reducer, Affine& module, int device) {
  Reducers::make(reducer, module.bias, 1, 10 + device);
  Reducers::make(reducer, module.weight, 0, 1 + device);
  reducer.finish();
}

TEST(BucketReducerTest, AddsUpOnRankZero) {
  Reducers r({.to = Reduction::To::rank_0});
  r.reduce(make_both);
  EXPECT_THAT(r.gradient(0, 0), Each(3));
  EXPECT_THAT(r.gradient(0, 1), Each(21));
  EXPECT_THAT(r.gradient(1, 0), Each(2)) << "it keeps its own";
}

TEST(BucketReducerTest, AddsUpOnEveryRankWithItsFactor) {
  Reducers r({.to = Reduction::To::all});
  EXPECT_TRUE(r.of(0).gives_all_the_sum());
  r.of(0).set_factor(0.5);
  r.of(1).set_factor(0.5);
  r.reduce(make_both);
  for (const int d : {0, 1}) {
    EXPECT_THAT(r.gradient(d, 0), Each(1.5));
    EXPECT_THAT(r.gradient(d, 1), Each(10.5));
  }
}

TEST(BucketReducerTest, AddsUpEachRanksShareThere) {
  Reducers r({.to = Reduction::To::shares});
  r.reduce(make_both);
  // Of a bucket of 32 elements each rank has 16; the weight has 24.
  const std::vector<double> first = r.gradient(0, 0), second = r.gradient(1, 0);
  EXPECT_THAT(std::vector(first.begin(), first.begin() + 16), Each(3));
  EXPECT_THAT(std::vector(second.begin() + 16, second.end()), Each(3));
}

TEST(BucketReducerTest, AGradientThatAReplicaDoesNotMakeCountsAsZero) {
  Reducers r;
  r.parameters.arenas()[1]->gradient(1).fill_(1000);  // stale
  r.reduce([](BucketReducer& reducer, Affine& module, int device) {
    Reducers::make(reducer, module.weight, 0, 1);
    if (device == 0) Reducers::make(reducer, module.bias, 1, 5);
    EXPECT_THAT(reducer.tally().missing(),
                device == 0 ? std::vector<std::size_t>{} : std::vector<std::size_t>{1});
    reducer.finish();
  });
  EXPECT_THAT(r.gradient(0, 1), Each(5));
  EXPECT_THAT(r.of(1).tally().used(), ElementsAre(1, 0));
  EXPECT_THAT(r.of(0).tally().used(), ElementsAre(1, 1));
}

TEST(BucketReducerTest, KeepsWhatEarlierBackwardsHaveLeft) {
  Reducers r;
  const auto weight_alone = [](BucketReducer& reducer, Affine& module, int) {
    Reducers::make(reducer, module.weight, 0, 1);
  };
  r.reduce(weight_alone);
  r.of(0).disarm();
  r.of(1).disarm();
  r.reduce([](BucketReducer& reducer, Affine&, int) { reducer.finish(); }, 1, Used::kept);
  EXPECT_THAT(r.gradient(0, 0), Each(2));
  EXPECT_THAT(r.of(1).tally().used(), ElementsAre(1, 0));
}

TEST(BucketReducerTest, StartsABucketAsSoonAsItAndThoseBeforeItAreComplete) {
  Reducers r;
  r.reduce([](BucketReducer& reducer, Affine& module, int) {
    Reducers::make(reducer, module.weight, 0, 1);
    EXPECT_FALSE(reducer.first_launch().has_value()) << "bucket 0 is not complete";
    Reducers::make(reducer, module.bias, 1, 1);
    EXPECT_TRUE(reducer.first_launch().has_value());
    reducer.finish();
  });
}

TEST(BucketReducerTest, WaitsForTheEndIfItIsToldTo) {
  Reducers r({.at_end = true});
  r.reduce([](BucketReducer& reducer, Affine& module, int device) {
    Reducers::make(reducer, module.bias, 1, 1 + device);
    Reducers::make(reducer, module.weight, 0, 1);
    EXPECT_FALSE(reducer.first_launch().has_value());
    reducer.finish();
    EXPECT_TRUE(reducer.first_launch().has_value());
  });
  EXPECT_THAT(r.gradient(0, 1), Each(3));
}

TEST(BucketReducerTest, WithoutAGroupNothingIsAddedUp) {
  Reducers r;
  r.of(0).arm({}, 1, Used::fresh);
  r.of(0).begin_backward();
  make_both(r.of(0), r.modules[0], 0);
  EXPECT_THAT(r.gradient(0, 0), Each(1));
  EXPECT_FALSE(r.of(0).is_armed());
}

TEST(BucketReducerTest, IgnoresGradientsUnlessItIsArmed) {
  Reducers r;
  Reducers::make(r.of(0), r.modules[0].bias, 1, 1);
  EXPECT_THAT(r.of(0).tally().used(), ElementsAre(0, 0));
  r.of(0).arm({}, 1, Used::fresh);
  r.of(0).disarm();
  Reducers::make(r.of(0), r.modules[0].bias, 1, 1);
  EXPECT_THAT(r.of(0).tally().used(), ElementsAre(0, 0));
}

TEST(BucketReducerTest, AHookReplacesTheReductionAndGetsEachBucketByName) {
  Reducers r({.to = Reduction::To::all});
  std::vector<std::string> seen;
  r.of(0).set_factor(100);
  r.of(0).set_hook([&](comm::Communicator& group, const GradBucket& bucket) {
    seen.push_back(bucket.parameters.at(0) + (bucket.is_last ? ", the last" : ""));
    Tensor whole = bucket.gradients.at(0);
    whole.fill_(bucket.index + 1);
    return group.start_all_reduce(whole);
  });
  r.of(1).set_hook([](comm::Communicator& group, const GradBucket& bucket) {
    return group.start_all_reduce(bucket.gradients.at(0));
  });
  r.reduce(make_both);
  EXPECT_THAT(seen, ElementsAre("bias", "weight, the last"));
  EXPECT_THAT(r.gradient(1, 1), Each(12)) << "1 of the hook, 11 of device 1";
  EXPECT_THAT(r.gradient(1, 0), Each(4));
}

TEST(BucketReducerTest, WatchesWhatThisReplicaMakesAndStopsWhenItIsArmedAgain) {
  Reducers r({.to = Reduction::To::all});
  r.reduce([](BucketReducer& reducer, Affine& module, int device) {
    reducer.watch().start();
    Reducers::make(
        reducer, module.weight, 0, device == 1 ? std::numeric_limits<double>::infinity() : 1);
    reducer.finish();
  });
  EXPECT_THAT(r.of(0).watch().found(), ElementsAre(0, 0)) << "though the sum is not finite there";
  EXPECT_THAT(r.of(1).watch().found(), ElementsAre(::testing::Ne(0), 0));
  r.reduce(make_both);
  EXPECT_THAT(r.of(1).watch().found(), IsEmpty()) << "it was not asked to";
}

}  // namespace
}  // namespace tandem::parallel::test
