// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Parameters come while a replica computes: a layer waits for its own, and for no others.

#include "parallel/reduce/parameter_broadcast.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tandem/autograd/autograd.hpp"
#include "tandem/optim/sgd.hpp"
#include "tandem/runtime/dispatch.hpp"
#include "tandem/runtime/observer.hpp"

#include "parallel/nets.hpp"

namespace tandem::parallel::test {
namespace {

/// The ends of work by device index, in their order.
class Ends final : public Observer {
 public:
  void on_work_end(const Work& work, const Stream& stream) noexcept override {
    const std::scoped_lock lock(mutex_);
    names_[stream.device().index].emplace_back(work.name);
  }
  const std::vector<std::string>& of(int device) { return names_[device]; }

 private:
  std::mutex mutex_;
  std::map<int, std::vector<std::string>> names_;
};

/// Four layers, and one that forward leaves out.
struct Deep : nn::Module {
  nn::Linear a{6, 7}, b{7, 8}, idle{3, 2}, c{8, 9}, d{9, 5};
  Tensor forward(const Tensor& x) { return d(c(b(a(x)))); }
  TANDEM_MODULE(Deep, a, b, idle, c, d)
};

DataParallelOptions in_small_pieces(Mode mode) {
  return {.devices = devices(2),
          .mode = mode,
          .exchange = {.first_bucket_nbytes = 1, .bucket_nbytes = 1}};
}

/// Broadcasts that ended on device 1 after the first product of a layer had.
std::ptrdiff_t broadcasts_after_a_layer(Mode mode) {
  Deep net;
  DataParallel dp(net, in_small_pieces(mode));
  const Tensor x = randn({8, 6}, {.device = devices(1).front()});
  Ends ends;
  {
    const Subscription subscription(ends);
    dp(x);
  }
  const std::vector<std::string>& names = ends.of(devices(2)[1].index);
  const auto is_product = [](const std::string& s) { return s != "broadcast" && s != "copy"; };
  return std::ranges::count(std::ranges::find_if(names, is_product), names.end(), "broadcast");
}

TEST(ParameterBroadcastTest, ALayerRunsBeforeTheParametersOfTheNextHaveCome) {
  for (const Mode mode : {Mode::server, Mode::sharded, Mode::ddp})
    EXPECT_GE(broadcasts_after_a_layer(mode), 6) << name(mode) << ": b, idle, c, d have two each";
}

TEST(ParameterBroadcastTest, ClassicSendsAllFirst) {
  EXPECT_EQ(broadcasts_after_a_layer(Mode::classic), 0);
}

TEST(ParameterBroadcastTest, WhatForwardLeavesOutComesToo) {
  for (const Mode mode : kModes) {
    Deep net;
    net.c.weight.requires_grad_(false);  // comes as well
    DataParallel dp(net, in_small_pieces(mode));
    for (const double value : {3.0, 4.0}) {
      {
        const autograd::NoGrad off;
        for (Tensor& p : net.parameters())
          p.fill_(value);
      }
      dp(ones({4, 6}, {.device = devices(1).front()}));
      for (const Tensor& p : dp.replica(1).parameters())
        EXPECT_THAT(p.to_doubles(), ::testing::Each(value)) << name(mode);
    }
  }
}

// A replica fails while others wait for parameters: nothing stays under way.
TEST(ParameterBroadcastTest, AFailureInForwardLeavesNothingUnderWay) {
  Deep net;
  DataParallel dp(net, in_small_pieces(Mode::server));
  const Tensor x = ones({4, 6}, {.device = devices(1).front()});
  for (int round = 0; round < 20; ++round) {
    {
      const autograd::NoGrad off;
      net.d.weight.fill_(round);
    }
    const int bad = round % 2;
    const auto fails = [&](Deep& replica, const Tensor& rows) -> WeightedSum {
      if (context().replica == bad) throw std::runtime_error("bad");
      const Tensor y = replica(rows);
      return {y.sum(), Tensor(ones({}, {.device = y.device()}))};
    };
    EXPECT_THROW(dp.step(x, fails), ReplicaError);
    for (Tensor& p : dp.replica(1).parameters())
      EXPECT_FALSE(p.buffer().transits().any());
    for (Tensor& p : net.parameters())
      EXPECT_FALSE(p.buffer().transits().any());
    dp(x);
    EXPECT_THAT(dp.replica(1).d.weight.to_doubles(), ::testing::Each(round));
  }
}

TEST(ParameterBroadcastTest, BucketsCoverEachBlockOnce) {
  Deep net;
  net.c.weight.requires_grad_(false);
  const auto arena = optim::Arena::obtain(
      [&] {
        std::vector<optim::ArenaEntry> entries;
        for (const nn::NamedTensor& p : net.named_parameters())
          entries.push_back({p.name, p.tensor});
        return entries;
      }(),
      {});
  const optim::ArenaLayout& layout = arena->layout();
  for (const std::size_t nbytes : {1, 300, 500, 1 << 20}) {
    std::vector<std::int64_t> reached(layout.blocks().size(), 0);
    for (const Bucket& bucket : plan_broadcast(layout, 1, nbytes)) {
      ASSERT_EQ(bucket.runs.size(), 1u);
      auto& at = reached[static_cast<std::size_t>(bucket.block)];
      EXPECT_EQ(bucket.range().begin, at);
      EXPECT_GT(bucket.range().end, bucket.range().begin);
      at = bucket.range().end;
    }
    for (std::size_t b = 0; b < reached.size(); ++b)
      EXPECT_EQ(reached[b], layout.blocks()[b].numel) << "block " << b;
  }
}

}  // namespace
}  // namespace tandem::parallel::test
