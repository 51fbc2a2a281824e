// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/update/shards.hpp"

#include <mutex>
#include <set>
#include <tuple>

#include <gmock/gmock.h>

#include "parallel/engine.hpp"

namespace tandem::parallel::test {
namespace {

using ::testing::Each;
using ::testing::UnorderedElementsAre;

/// Shares of three devices, of the two buckets [0, 32) and [32, 64) of one block: 11, 11 and 10
/// elements of each.
class ShardsTest : public ::testing::Test {
 protected:
  static int owner_of(std::size_t element) {
    const std::size_t within = element % 32;
    return within < 11 ? 0 : within < 22 ? 1 : 2;
  }
  /// Each device has its share of the gradients: ones, twos and threes.
  void reduce() {
    for (int d = 0; d < 3; ++d)
      s_.gradients(d).fill_(d + 1);
    s_.modules[0].weight.set_grad(s_.parameters.arena()->gradient(0));
    s_.update->reduced();
  }
  void expect_shares(const Tensor& flat, const char* what) {
    const std::vector<double> values = flat.to_doubles();
    for (std::size_t i = 0; i < values.size(); ++i)
      EXPECT_EQ(values[i], owner_of(i) + 1) << what << ", element " << i;
  }

  SharedUpdate s_{3, Mode::sharded};
};

TEST_F(ShardsTest, SlicesAreEachDevicesShareOfEachBucket) {
  using Piece = std::tuple<Device, std::int64_t, std::int64_t>;
  std::vector<Piece> pieces;
  for (const optim::ArenaSlice& slice : s_.update->sharing()->slices()) {
    pieces.push_back({slice.device, slice.begin, slice.end});
    EXPECT_EQ(slice.params.device(), slice.device);
    EXPECT_EQ(slice.params.numel(), slice.end - slice.begin);
    EXPECT_EQ(slice.grads.numel(), slice.end - slice.begin);
  }
  const std::vector<Device>& d = s_.list;
  EXPECT_THAT(pieces,
              UnorderedElementsAre(Piece{d[0], 0, 11},
                                   Piece{d[1], 11, 22},
                                   Piece{d[2], 22, 32},
                                   Piece{d[0], 32, 43},
                                   Piece{d[1], 43, 54},
                                   Piece{d[2], 54, 64}));
  EXPECT_EQ(s_.update->sharing()->parts(), optim::ArenaSharing::Parts::shares);
}

TEST_F(ShardsTest, CompleteBringsAllSharesToDeviceZeroOnce) {
  reduce();
  s_.update->complete();
  expect_shares(s_.gradients(0), "device 0");
  s_.gradients(1).fill_(50);
  s_.update->complete();
  expect_shares(s_.gradients(0), "device 0, nothing was left to do");
}

TEST_F(ShardsTest, CompleteDoesNothingUnlessGradientsWereReduced) {
  reduce();
  s_.update->discard();
  s_.update->complete();
  EXPECT_THAT(s_.gradients(0).to_doubles(), Each(1));
}

TEST_F(ShardsTest, AChangeOnDeviceZeroGoesToTheShares) {
  reduce();
  s_.update->complete();
  s_.gradients(0).fill_(7);
  s_.update->sharing()->share_gradients();
  for (int d = 1; d < 3; ++d) {
    const std::vector<double> values = s_.gradients(d).to_doubles();
    for (std::size_t i = 0; i < values.size(); ++i)
      EXPECT_EQ(values[i], owner_of(i) == d ? 7 : d + 1) << "device " << d << ", element " << i;
  }
  EXPECT_EQ(s_.reductions, 1);
}

TEST_F(ShardsTest, SharesThatNobodyChangedAreNotSentBack) {
  reduce();
  s_.update->sharing()->share_gradients();
  EXPECT_THAT(s_.gradients(1).to_doubles(), Each(2)) << "nobody looked at them";
  s_.update->complete();
  s_.gradients(1).fill_(50);
  s_.update->sharing()->share_gradients();
  EXPECT_THAT(s_.gradients(1).to_doubles(), Each(50)) << "somebody looked, and changed nothing";
}

TEST_F(ShardsTest, ABackwardAddsToWholeGradients) {
  reduce();
  s_.update->begin_backward();
  expect_shares(s_.gradients(0), "device 0");
}

TEST_F(ShardsTest, GradientsThatWereDroppedAreNotBroughtBack) {
  reduce();
  s_.modules[0].weight.set_grad({});
  s_.update->begin_backward();
  EXPECT_THAT(s_.gradients(0).to_doubles(), Each(1));
  s_.update->complete();
  EXPECT_THAT(s_.gradients(0).to_doubles(), Each(1)) << "they do not count as reduced any more";
}

TEST_F(ShardsTest, EveryDeviceGetsTheValuesThatTheOthersHaveUpdated) {
  const auto call = s_.make_call_everywhere();
  s_.run(call, Phase::update, [this](Call&, Call::Part& part) {
    s_.values(part.index()).fill_(part.index() + 1);
    s_.update->gather_values(*part.comm, part.index());
  });
  for (int d = 0; d < 3; ++d)
    expect_shares(s_.values(d), "values");
}

TEST_F(ShardsTest, AnUpdateRunsOnEveryDeviceAndItsErrorIsThrown) {
  std::mutex mutex;
  std::set<Device> seen;
  s_.update->sharing()->update([&](Device device) {
    const std::scoped_lock lock(mutex);
    seen.insert(device);
    return std::exception_ptr();
  });
  EXPECT_EQ(seen, std::set<Device>(s_.list.begin(), s_.list.end()));
  const auto fails = [this](Device device) {
    return device == s_.list[2] ? std::make_exception_ptr(InvalidArgument("test"))
                                : std::exception_ptr();
  };
  EXPECT_THROW(s_.update->sharing()->update(fails), ReplicaError);
}

}  // namespace
}  // namespace tandem::parallel::test
