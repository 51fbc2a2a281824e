// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <utility>

#include "parallel/update/central_update.hpp"
#include "parallel/update/copies.hpp"
#include "parallel/update/full_shards.hpp"
#include "parallel/update/gradient_shards.hpp"
#include "parallel/update/mode_rules.hpp"
#include "parallel/update/shards.hpp"

namespace tandem::parallel {

/// ModeRules::make_update of modes in which device 0 updates alone.
inline std::shared_ptr<ParameterUpdate> by_device_0(SharedParts) {
  return std::make_shared<CentralUpdate>();
}

/// ModeRules::make_update of modes in which all devices update.
template <class Sharing>
std::shared_ptr<ParameterUpdate> by_all(SharedParts parts) {
  return std::make_shared<Sharing>(std::move(parts));
}

/// The one place that tells the modes apart: a mode is a row.
inline constexpr std::array kModeRows{
    ModeRules{.mode = Mode::classic,
              .name = "classic",
              .reduction = {.to = Reduction::To::rank_0, .at_end = true},
              .replication = ModeRules::Replication::every_forward,
              .sharded = ModeRules::Sharded::nothing,
              .make_update = by_device_0,
              .words = {.option = "dp-classic",
                        .summary = "DataParallel as in PyTorch",
                        .goal = "torch.nn.DataParallel, step for step",
                        .divides = "the batch",
                        .collectives = "broadcast of all values, gather, reduce to device 0",
                        .waits = "all for device 0, before forward and after backward",
                        .update = "device 0, all parameters"}},
    ModeRules{.mode = Mode::server,
              .name = "server",
              .reduction = {.to = Reduction::To::rank_0},
              .replication = ModeRules::Replication::when_changed,
              .sharded = ModeRules::Sharded::nothing,
              .make_update = by_device_0,
              .words = {.option = "dp-server",
                        .summary = "DataParallel with all updates on the first device",
                        .goal = "one model and one optimizer on device 0",
                        .divides = "the batch",
                        .collectives = "broadcast of changed values, reduce to device 0 by buckets",
                        .waits = "each op for the values that it uses; device 0 for all gradients",
                        .update = "device 0, all parameters"}},
    ModeRules{.mode = Mode::sharded,
              .name = "sharded",
              .reduction = {.to = Reduction::To::shares},
              .replication = ModeRules::Replication::when_changed,
              .sharded = ModeRules::Sharded::nothing,
              .make_update = by_all<Shards>,
              .words = {.option = "dp-sharded",
                        .summary = "DataParallel in which each device updates its share",
                        .goal = "speed, with the optimizer's state divided (ZeRO-1)",
                        .divides = "the batch, the state",
                        .collectives = "reduce_scatter by buckets, all_gather of updated values",
                        .waits = "each op for the values that it uses",
                        .update = "each device, its share"}},
    ModeRules{.mode = Mode::sharded_gradients,
              .name = "sharded_gradients",
              .reduction = {.to = Reduction::To::shares},
              .replication = ModeRules::Replication::when_changed,
              .sharded = ModeRules::Sharded::gradients,
              .make_update = by_all<GradientShards>,
              .words = {.option = "dp-sharded-gradients",
                        .summary = "the same, with its share of the gradients alone",
                        .goal = "less memory for gradients and state (ZeRO-2)",
                        .divides = "the batch, the state, the gradients",
                        .collectives = "reduce_scatter by units, all_gather of updated values",
                        .waits = "each op for the values that it uses",
                        .update = "each device, its share"}},
    ModeRules{
        .mode = Mode::fully_sharded,
        .name = "fully_sharded",
        .reduction = {.to = Reduction::To::shares},
        .replication = ModeRules::Replication::when_changed,
        .sharded = ModeRules::Sharded::values_and_gradients,
        .make_update = by_all<FullShards>,
        .words = {.option = "dp-fully-sharded",
                  .summary = "DataParallel in which each device has its share of the model",
                  .goal = "models that are larger than a device (ZeRO-3, FSDP)",
                  .divides = "the batch, the state, the gradients, the parameters",
                  .collectives =
                      "all_gather of a unit for forward and backward, reduce_scatter by units",
                  .waits = "each unit for its gather",
                  .update = "each device, its share"}},
    ModeRules{.mode = Mode::ddp,
              .name = "ddp",
              .reduction = {.to = Reduction::To::all},
              .replication = ModeRules::Replication::when_changed,
              .sharded = ModeRules::Sharded::nothing,
              .make_update = by_all<Copies>,
              .words = {.option = "ddp",
                        .summary = "DistributedDataParallel, in which each device updates its copy",
                        .goal = "speed, with all devices alike",
                        .divides = "the batch",
                        .collectives = "all_reduce by buckets",
                        .waits = "all for the last bucket of gradients",
                        .update = "each device, all parameters, with the same result"}},
};

/// Whether `rows` has a row for each of kModes, at the mode's number.
template <std::size_t n>
consteval bool are_all_modes(const std::array<ModeRules, n>& rows) {
  for (std::size_t i = 0; i < n; ++i)
    if (rows[i].mode != kModes[i] || static_cast<std::size_t>(kModes[i]) != i) return false;
  return n == kModes.size();
}
static_assert(are_all_modes(kModeRows));

}  // namespace tandem::parallel
