// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/ops/random.hpp"

#include <mutex>
#include <set>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>

#include "tandem/nn/dropout.hpp"
#include "tandem/nn/replicate.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/optim/sgd.hpp"
#include "tandem/parallel/parallel_apply.hpp"
#include "tandem/parallel/replica_error.hpp"
#include "tandem/parallel/run_ranks.hpp"

#include "devices.hpp"
#include "parallel/near.hpp"
#include "parallel/nets.hpp"
#include "thrown_text.hpp"

// Random numbers in a forward: those of one device, and the same in each run.
namespace tandem::parallel::test {
namespace {

enum class Draw : std::uint8_t { rand, randn, randint, bernoulli, like };

Tensor draw(Draw what, const Tensor& x) {
  const TensorOptions options{.dtype = x.dtype(), .device = x.device()};
  switch (what) {
    case Draw::rand:
      return rand(x.shape(), options);
    case Draw::randn:
      return randn(x.shape(), options);
    case Draw::randint:
      return randint(0, 1000, x.shape(), options);
    case Draw::bernoulli:
      return bernoulli(full(x.shape(), 0.5, options));
    case Draw::like:
      return randn_like(x);
  }
  return {};
}

/// Draws of the batch's rows, of tokens, and of no rows at all.
struct Noisy : nn::Module {
  explicit Noisy(Draw d) : what(d) {}
  Draw what;
  nn::Linear inner{5, 5, {.dtype = DType::f64}};
  Tensor forward(const Tensor& x) {
    const Tensor common = randn({1, 5}, {.dtype = x.dtype(), .device = x.device()});
    return inner(x) + draw(what, x) * 3.0 + draw(what, x) + common;
  }
  TANDEM_MODULE(Noisy, inner)
};

class RandomTest : public ::testing::TestWithParam<Draw> {};

TEST_P(RandomTest, NumbersAreThoseOfOneDevice) {
  const Tensor x = ones({11, 5}, f64());
  manual_seed(5);
  Noisy net(GetParam());
  manual_seed(9);
  std::vector<std::vector<double>> right;
  for (int i = 0; i < 2; ++i)
    right.push_back(net(x).to_doubles());
  EXPECT_NE(right[0], right[1]) << "each forward has its own";
  for (const auto& chunks :
       std::vector<std::vector<std::int64_t>>{{11}, {4, 7}, {1, 3, 7}, {0, 6, 5}}) {
    Noisy copy = nn::clone(net);
    DataParallel dp(copy,
                    {.devices = devices(static_cast<int>(chunks.size())), .chunk_sizes = chunks});
    manual_seed(9);
    for (int i = 0; i < 2; ++i)
      EXPECT_THAT(dp(x).to_doubles(), same_values(right[static_cast<std::size_t>(i)]))
          << chunks.size();
  }
}

INSTANTIATE_TEST_SUITE_P(
    Draws,
    RandomTest,
    ::testing::Values(Draw::rand, Draw::randn, Draw::randint, Draw::bernoulli, Draw::like));

TEST(RandomInForward, RowsMayLieInAnotherDimension) {
  const Tensor x = ones({3, 10, 5}, f64());
  Noisy net(Draw::randn);
  manual_seed(9);
  const std::vector<double> right = net(x).to_doubles();
  manual_seed(9);
  DataParallel dp(net, {.devices = devices(3), .dim = 1, .chunk_sizes = {3, 4, 3}});
  EXPECT_THAT(dp(x).to_doubles(), same_values(right));
}

TEST(RandomInForward, EvaluationGoesOnWithOtherNumbers) {
  const Tensor x = ones({4, 5}, f64());
  Noisy net(Draw::randn);
  net.eval();
  EXPECT_NE(net(x).to_doubles(), net(x).to_doubles());
  DataParallel dp(net, {.devices = devices(2)});
  EXPECT_NE(dp(x).to_doubles(), dp(x).to_doubles());
}

/// Asks for the batch's rows where there are none.
struct Mistaken : nn::Module {
  nn::Linear inner{5, 5, {.dtype = DType::f64}};
  Tensor forward(const Tensor& x) {
    const TensorOptions options{.dtype = x.dtype(), .device = x.device()};
    return inner(x) + randn({7, 5}, options, {.rows = BatchRows::yes}).sum();
  }
  TANDEM_MODULE(Mistaken, inner)
};

TEST(RandomInForward, RowsThatAreNoneOfTheBatchAreRefused) {
  Mistaken net;
  DataParallel dp(net, {.devices = devices(2)});
  EXPECT_THAT(testing::thrown_text<ReplicaError>([&] {
                dp(ones({6, 5}, f64()));
              }),
              ::testing::HasSubstr(
                  "dimension 0 of shape (7, 5) must be a multiple of the replica's 3 rows"));
}

TEST(RandomInForward, AFailedStepGivesItsNumbersBack) {
  const Tensor x = ones({6, 5}, f64());
  Noisy net(Draw::randn);
  DataParallel dp(net, {.devices = devices(3)});
  manual_seed(4);
  const auto loss = [](Noisy& m, const Tensor& part) {
    return WeightedSum{sum(m(part)), ones({}, {.dtype = DType::f64, .device = part.device()})};
  };
  const double right = dp.step(x, loss).loss;
  manual_seed(4);
  const auto fails = [](Noisy& m, const Tensor& part) -> WeightedSum {
    m(part);
    throw InvalidArgument("this step fails");
  };
  EXPECT_THROW(dp.step(x, fails), ReplicaError);
  EXPECT_EQ(dp.step(x, loss).loss, right);
}

TEST(RandomInForward, ModulesAppliedInParallelHaveTheirOwnNumbersInEachRun) {
  const auto places = devices(3);
  std::vector<Noisy> nets;
  std::vector<Noisy*> modules;
  std::vector<std::tuple<Tensor>> inputs;
  for (int i = 0; i < 3; ++i)
    nets.push_back(nn::clone(Noisy(Draw::randn)));
  for (std::size_t i = 0; i < nets.size(); ++i) {
    nets[i].to(places[i]);
    for (const Tensor& p : nets[i].parameters())
      Tensor(p).detach().fill_(1);
    modules.push_back(&nets[i]);
    inputs.emplace_back(ones({4, 5}, {.dtype = DType::f64, .device = places[i]}));
  }
  const auto values = [&] {
    std::vector<std::vector<double>> all;
    for (const Tensor& y : parallel_apply(modules, inputs, places))
      all.push_back(y.to_doubles());
    return all;
  };
  manual_seed(2);
  const auto first = values(), second = values();
  EXPECT_NE(first[0], first[1]);
  EXPECT_NE(first, second);
  for (int round = 0; round < 20; ++round) {
    manual_seed(2);
    EXPECT_EQ(values(), first);
    EXPECT_EQ(values(), second);
  }
}

/// Calls a module of its own by parallel_apply, twice, and then itself.
struct AppliesInParallel : nn::Module {
  Noisy inner{Draw::randn};
  std::vector<std::vector<double>> seen;
  Tensor forward(const Tensor& x) {
    std::vector<Noisy*> modules{&inner};
    std::vector<std::tuple<Tensor>> inputs{{x}};
    for (int i = 0; i < 2; ++i)
      seen.push_back(parallel_apply(modules, inputs, devices(1)).front().to_doubles());
    seen.push_back(inner(x).to_doubles());
    return x;
  }
  TANDEM_MODULE(AppliesInParallel, inner)
};

TEST(RandomInForward, JobsOfOneForwardDoNotRepeatNumbers) {
  manual_seed(2);
  AppliesInParallel outer;
  outer.to(tandem::testing::device(0));
  outer(ones({4, 5}, {.dtype = DType::f64, .device = tandem::testing::device(0)}));
  EXPECT_NE(outer.seen[0], outer.seen[1]);
  EXPECT_NE(outer.seen[1], outer.seen[2]);
  EXPECT_NE(outer.seen[0], outer.seen[2]);
}

TEST(RandomInForward, AGeneratorOfTheUsersHasItsOwnNumbers) {
  Generator a(1), b(1), c(2);
  const auto numbers = [](Generator& g) { return randn({4}, {}, {.generator = &g}).to_doubles(); };
  const GeneratorState start = a.get_state();
  const auto first = numbers(a), second = numbers(a);
  EXPECT_EQ(numbers(b), first);
  EXPECT_NE(numbers(c), first);
  EXPECT_NE(second, first);
  a.set_state(start);
  EXPECT_EQ(numbers(a), first);
}

TEST(RandomInRanks, EachRankHasItsOwnGenerator) {
  manual_seed(3);
  const std::vector<double> right = randn({4}).to_doubles();
  for (int round = 0; round < 20; ++round) {
    std::mutex mutex;
    std::set<std::vector<double>> same, differing;
    run_ranks(devices(3), [&](Rank& rank) {
      manual_seed(3);
      rank.comm().barrier();
      const auto first = randn({4}).to_doubles();
      manual_seed(rank.seed(7));
      rank.comm().barrier();
      const auto own = randn({4}).to_doubles();
      const std::scoped_lock lock(mutex);
      same.insert(first);
      differing.insert(own);
    });
    EXPECT_EQ(same, std::set<std::vector<double>>{right});
    EXPECT_EQ(differing.size(), 3u);
  }
}

TEST(RandomInRanks, TheNumbersGoOnAfterwards) {
  manual_seed(3);
  std::set<std::vector<double>> seen;
  std::mutex mutex;
  for (int round = 0; round < 2; ++round) {
    run_ranks(devices(2), [&](Rank&) {
      const auto own = randn({4}).to_doubles();
      const std::scoped_lock lock(mutex);
      seen.insert(own);
    });
  }
  EXPECT_EQ(seen.size(), 2u) << "one for each round";
}

/// (L, N, E), as PyTorch's recurrent and attention layers take it by default.
struct SecondDimension : nn::Module {
  nn::Linear inner{4, 4, {.dtype = DType::f64}};
  nn::Dropout drop{0.5};
  Tensor forward(const Tensor& x) { return inner(drop(x)); }
  TANDEM_MODULE(SecondDimension, inner, drop)
};

TEST(RandomInForward, DropoutFollowsTheWrappersDimension) {
  const Tensor x = ones({3, 10, 4}, f64());
  SecondDimension net;
  std::vector<std::vector<double>> outputs;
  for (const auto& chunks : std::vector<std::vector<std::int64_t>>{{10}, {4, 6}, {1, 4, 5}}) {
    SecondDimension copy = nn::clone(net);
    DataParallel dp(
        copy,
        {.devices = devices(static_cast<int>(chunks.size())), .dim = 1, .chunk_sizes = chunks});
    manual_seed(9);
    outputs.push_back(dp(x).to_doubles());
  }
  EXPECT_EQ(outputs[1], outputs[0]);
  EXPECT_EQ(outputs[2], outputs[0]);
}

}  // namespace
}  // namespace tandem::parallel::test
