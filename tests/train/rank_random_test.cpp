// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Dropout's masks in programs of ranks: those of a run that was not interrupted, whatever is
// wrapped again, loaded again or joined meanwhile.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <gmock/gmock.h>

#include "tandem/nn/dropout.hpp"
#include "tandem/nn/linear.hpp"
#include "tandem/nn/replicate.hpp"
#include "tandem/ops/activation.hpp"
#include "tandem/ops/loss.hpp"
#include "tandem/optim/sgd.hpp"
#include "tandem/parallel/distributed_data_parallel.hpp"
#include "tandem/parallel/fully_sharded_data_parallel.hpp"
#include "tandem/parallel/run_ranks.hpp"
#include "tandem/tensor/factories.hpp"
#include "tandem/train/checkpoint.hpp"

#include "devices.hpp"
#include "io/temp_dir.hpp"

namespace tandem::training::test {
namespace {

using parallel::DistributedDataParallel;
using parallel::FullyShardedDataParallel;
using Weights = std::vector<double>;

struct DropoutNet : nn::Module {
  nn::Linear a{6, 16, {.dtype = DType::f64}};
  nn::Dropout d{0.25};
  nn::Linear b{16, 4, {.dtype = DType::f64}};
  Tensor forward(const Tensor& x) { return b(d(tanh(a(x)))); }
  TANDEM_MODULE(DropoutNet, a, d, b)
};

struct Data {
  Data() {
    manual_seed(3);
    x = randn({12, 6}, {.dtype = DType::f64});
    y = randint(0, 4, {12});
  }
  DropoutNet start;
  Tensor x, y;
};

/// Trains a part of a run, in which steps 0 to 5 belong to one another.
template <class Wrapper>
class Part {
 public:
  Part(const Data& data, int from, int to) : data_(data), from_(from), to_(to) {}

  std::string load = {}, save = {};
  bool main_loads_alone = false;
  std::optional<int> wraps_again_at = std::nullopt;

  Weights run() const {
    Weights end;
    parallel::run_ranks(tandem::testing::devices(2), [&](parallel::Rank& rank) {
      DropoutNet net = nn::clone(data_.start);
      net.to(rank.device());
      auto wrapped = main_loads_alone ? nullptr : std::make_unique<Wrapper>(net, rank);
      optim::SGD sgd(net.named_parameters(), {.lr = 0.2});
      const auto loads = [&] { load_checkpoint(load, net, sgd, {.model = "m"}); };
      if (main_loads_alone) {
        if (rank.is_main()) loads();
        wrapped = std::make_unique<Wrapper>(net, rank);
      } else if (!load.empty()) {
        whole(*wrapped, loads);
      }
      for (int i = from_; i < to_; ++i) {
        if (wraps_again_at == i) {
          wrapped.reset();
          wrapped = std::make_unique<Wrapper>(net, rank);
        }
        step(*wrapped, sgd, rank);
      }
      if (!save.empty())
        whole(*wrapped, [&] {
          if (is_sharded || rank.is_main())
            save_checkpoint(save, net, sgd, {.model = "m", .step = to_});
        });
      rank.comm().barrier();
      whole(*wrapped, [&] {
        if (rank.is_main()) end = net.b.weight.to_doubles();
      });
    });
    return end;
  }

 private:
  static constexpr bool is_sharded = std::is_same_v<Wrapper, FullyShardedDataParallel<DropoutNet>>;

  static void whole(Wrapper& wrapped, const std::function<void()>& f) {
    if constexpr (is_sharded)
      unsharded(wrapped, f);
    else
      f();
  }
  void step(Wrapper& wrapped, optim::SGD& sgd, parallel::Rank& rank) const {
    sgd.zero_grad();
    const auto own = [&](const Tensor& all) {
      return all.narrow(0, rank.rank() * 6, 6).to(rank.device());
    };
    cross_entropy(wrapped(own(data_.x)), own(data_.y)).backward();
    sgd.step();
  }

  const Data& data_;
  int from_, to_;
};

template <class Wrapper>
struct RankRandomTest : ::testing::Test {
  Data data;
  tandem::testing::TempDir dir;
  std::string file = dir.file("run.st");

  Weights whole_run() {
    manual_seed(55);
    return Part<Wrapper>(data, 0, 6).run();
  }
};
using Wrappers =
    ::testing::Types<DistributedDataParallel<DropoutNet>, FullyShardedDataParallel<DropoutNet>>;
TYPED_TEST_SUITE(RankRandomTest, Wrappers);

TYPED_TEST(RankRandomTest, AResumedRunHasTheMasksOfTheWholeOne) {
  manual_seed(55);
  Part<TypeParam> begin(this->data, 0, 3), rest(this->data, 3, 6);
  begin.save = rest.load = this->file;
  begin.run();
  EXPECT_EQ(read_run_state(this->file).random->forwards, 3U);
  EXPECT_EQ(default_generator().forwards(), 3U);
  manual_seed(1);
  const Weights resumed = rest.run();
  EXPECT_EQ(resumed, this->whole_run());
}

TYPED_TEST(RankRandomTest, AModuleThatIsWrappedAgainGoesOn) {
  if (std::is_same_v<TypeParam, FullyShardedDataParallel<DropoutNet>>)
    GTEST_SKIP() << "its ranks have shares, and nothing is left to wrap";
  const Weights whole = this->whole_run();
  manual_seed(55);
  Part<TypeParam> again(this->data, 0, 6);
  again.wraps_again_at = 3;
  EXPECT_EQ(again.run(), whole);
}

TYPED_TEST(RankRandomTest, TwoCallsOfRunRanksAreOneRun) {
  manual_seed(55);
  Part<TypeParam> begin(this->data, 0, 3), rest(this->data, 3, 6);
  begin.save = rest.load = this->file;
  const Weights whole = this->whole_run();
  manual_seed(55);
  begin.run();
  EXPECT_EQ(rest.run(), whole);
}

using RanksOfCopies = RankRandomTest<DistributedDataParallel<DropoutNet>>;

TEST_F(RanksOfCopies, OneRankMayReadTheCheckpointForAll) {
  manual_seed(55);
  Part<DistributedDataParallel<DropoutNet>> begin(data, 0, 3), rest(data, 3, 6);
  begin.save = rest.load = file;
  begin.run();
  manual_seed(55);  // all have the seed; the main rank knows how far the run is
  rest.main_loads_alone = true;
  const Weights resumed = rest.run();
  EXPECT_EQ(resumed, whole_run());
}

TEST_F(RanksOfCopies, ARankWithoutBatchesCountsTheOthersForwards) {
  manual_seed(55);
  std::vector<std::uint64_t> counts(2);
  parallel::run_ranks(tandem::testing::devices(2), [&](parallel::Rank& rank) {
    DropoutNet net = nn::clone(data.start);
    net.to(rank.device());
    DistributedDataParallel ddp(net, rank);
    ddp.join([&] {
      for (int i = 0; i < (rank.rank() == 0 ? 1 : 4); ++i)
        ddp(data.x.to(rank.device())).sum().backward();
    });
    counts[static_cast<std::size_t>(rank.rank())] = default_generator().forwards();
  });
  EXPECT_THAT(counts, ::testing::Each(4U));
}

TEST_F(RanksOfCopies, AForwardThatDrawsNothingInEvaluationIsNotCounted) {
  manual_seed(55);
  parallel::run_ranks(tandem::testing::devices(2), [&](parallel::Rank& rank) {
    DropoutNet net = nn::clone(data.start);
    net.to(rank.device());
    DistributedDataParallel ddp(net, rank);
    net.eval();
    ddp(data.x.to(rank.device())).sum().backward();
    EXPECT_EQ(default_generator().forwards(), 0U) << "as on one device";
  });
}

}  // namespace
}  // namespace tandem::training::test
