// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/update/mode_rules.hpp"

#include <array>
#include <cstddef>
#include <utility>

#include "parallel/update/central_update.hpp"
#include "parallel/update/copies.hpp"
#include "parallel/update/full_shards.hpp"
#include "parallel/update/gradient_shards.hpp"
#include "parallel/update/shards.hpp"

namespace tandem::parallel {
namespace {

using To = Reduction::To;
using Replication = ModeRules::Replication;
using Sharded = ModeRules::Sharded;

std::shared_ptr<ParameterUpdate> by_device_0(SharedParts) {
  return std::make_shared<CentralUpdate>();
}

template <class Sharing>
std::shared_ptr<ParameterUpdate> by_all(SharedParts parts) {
  return std::make_shared<Sharing>(std::move(parts));
}

// The one place that tells the modes apart: a mode is a row.
constexpr std::array kRules{
    ModeRules{Mode::classic,
              "classic",
              {To::rank_0, /*at_end=*/true},
              Replication::every_forward,
              Sharded::nothing,
              by_device_0},
    ModeRules{Mode::server,
              "server",
              {To::rank_0},
              Replication::when_changed,
              Sharded::nothing,
              by_device_0},
    ModeRules{Mode::sharded,
              "sharded",
              {To::shares},
              Replication::when_changed,
              Sharded::nothing,
              by_all<Shards>},
    ModeRules{
        Mode::ddp, "ddp", {To::all}, Replication::when_changed, Sharded::nothing, by_all<Copies>},
    ModeRules{Mode::sharded_gradients,
              "sharded_gradients",
              {To::shares},
              Replication::when_changed,
              Sharded::gradients,
              by_all<GradientShards>},
    ModeRules{Mode::fully_sharded,
              "fully_sharded",
              {To::shares},
              Replication::when_changed,
              Sharded::values_and_gradients,
              by_all<FullShards>},
};

/// Whether each mode has its row, at its number.
consteval bool are_the_modes() {
  for (std::size_t i = 0; i < kRules.size(); ++i)
    if (kRules[i].mode != kModes[i] || static_cast<std::size_t>(kModes[i]) != i) return false;
  return kRules.size() == kModes.size();
}
static_assert(are_the_modes());

}  // namespace

const ModeRules& rules_of(Mode mode) noexcept {
  return kRules[static_cast<std::size_t>(mode)];
}

}  // namespace tandem::parallel
