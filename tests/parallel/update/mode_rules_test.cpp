// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/update/mode_rules.hpp"

#include <set>
#include <string>
#include <utility>

#include <gmock/gmock.h>

#include "tandem/nn/replicate.hpp"
#include "tandem/optim/sgd.hpp"

#include "devices.hpp"
#include "parallel/nets.hpp"
#include "parallel/update/copies.hpp"

namespace tandem::parallel::test {
namespace {

TEST(ModeRulesTest, EachModeHasRulesOfItsNameAndIsFoundByIt) {
  std::set<std::string> names;
  for (const Mode mode : kModes) {
    EXPECT_STREQ(rules_of(mode).name, name(mode));
    EXPECT_EQ(parse_mode(name(mode)), mode);
    EXPECT_EQ(parse_mode(words_of(mode).option), mode);
    names.insert(name(mode));
  }
  EXPECT_EQ(names.size(), kModes.size());
  EXPECT_EQ(parse_mode("sharded-gradients"), Mode::sharded_gradients);
  EXPECT_EQ(parse_mode("dp_fully_sharded"), Mode::fully_sharded);
  for (const char* none : {"central", "", "dp-", "dp-ddp", "sharded "})
    EXPECT_EQ(parse_mode(none), std::nullopt) << none;
}

TEST(ModeRulesTest, DeviceZeroUpdatesAloneUnlessAModeSaysOtherwise) {
  for (const Mode mode : {Mode::classic, Mode::server})
    EXPECT_FALSE(rules_of(mode).make_update({})->is_shared()) << name(mode);
}

/// Another mode: all devices get all gradients when backward has ended, and update their copies.
constexpr ModeRules kAllReduceAfterBackward{
    Mode::ddp,
    "all_reduce_after_backward",
    {.to = Reduction::To::all, .at_end = true},
    ModeRules::Replication::when_changed,
    ModeRules::Sharded::nothing,
    [](SharedParts parts) -> std::shared_ptr<ParameterUpdate> {
      return std::make_shared<Copies>(std::move(parts));
    },
    /*words=*/{}};

/// Weights after a few steps on three devices.
Values trained_by(const ModeRules& rules) {
  manual_seed(5);
  Mlp net;
  std::vector<Mlp> replicas(2, net);
  const std::vector<Device> list = testing::devices(3);
  net.to(list[0]);
  for (std::size_t r = 0; r < replicas.size(); ++r)
    replicas[r] = nn::replicate(net, list[r + 1]);
  ReplicaSet set({&net, &replicas[0], &replicas[1]},
                 list,
                 {.devices = list, .exchange = {.first_bucket_nbytes = 256, .bucket_nbytes = 1024}},
                 rules);
  optim::SGD optimizer(net.named_parameters(), {.lr = 0.1, .momentum = 0.9});
  const std::array modules{&net, &replicas[0], &replicas[1]};
  for (int step = 0; step < 4; ++step) {
    const Batch batch = make_batch(10, static_cast<std::uint64_t>(step), DType::f64, false);
    const std::vector<std::size_t> nbytes(list.size());
    set.step({{10, nbytes},
              [&](const Replica& r) {
                const std::int64_t rows = r.rows.size();
                const Batch part{batch.x.narrow(0, r.rows.begin, rows).to(r.device),
                                 batch.labels.narrow(0, r.rows.begin, rows).to(r.device)};
                return kLoss(*modules[static_cast<std::size_t>(r.index)], part);
              },
              &optimizer});
  }
  return values_of(net);
}

TEST(ModeRulesTest, AModeOfOnesOwnIsARow) {
  const Values expected = trained_by(rules_of(Mode::ddp));
  EXPECT_EQ(difference(trained_by(kAllReduceAfterBackward), expected), 0);
  EXPECT_EQ(difference(trained_by(rules_of(Mode::sharded)), expected), 0);
}

}  // namespace
}  // namespace tandem::parallel::test
