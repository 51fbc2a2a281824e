// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/choices/mode_choice.hpp"

#include <algorithm>
#include <array>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "tandem/core/check.hpp"

#include "cli/usage_error.hpp"

namespace tandem::cli {
namespace {

struct ModeEntry {
  const char* name;
  const char* summary;
  parallel::Mode mode;
};
/// All modes.
constexpr std::array kModes{
    ModeEntry{"single", "the first device alone", parallel::Mode::sharded},
    ModeEntry{"dp-classic", "DataParallel as in PyTorch", parallel::Mode::classic},
    ModeEntry{
        "dp-server", "DataParallel with all updates on the first device", parallel::Mode::server},
    ModeEntry{"dp-sharded",
              "DataParallel in which each device updates its share",
              parallel::Mode::sharded},
    ModeEntry{"dp-sharded-gradients",
              "the same, with its share of the gradients alone",
              parallel::Mode::sharded_gradients},
    ModeEntry{"dp-fully-sharded",
              "DataParallel in which each device has its share of the model",
              parallel::Mode::fully_sharded},
    ModeEntry{"ddp",
              "DistributedDataParallel, in which each device updates its copy",
              parallel::Mode::ddp},
};

}  // namespace

std::vector<std::string> mode_names() {
  std::vector<std::string> names;
  for (const ModeEntry& entry : kModes)
    names.emplace_back(entry.name);
  return names;
}

void ModeChoice::add_flags(CLI::App& app) {
  std::vector<std::string> summaries;
  for (const ModeEntry& entry : kModes)
    summaries.push_back(fmt::format("{} ({})", entry.summary, entry.name));
  app.add_option("--mode", name, fmt::format("who updates what: {}", fmt::join(summaries, "; ")))
      ->check(CLI::IsMember(mode_names()))
      ->capture_default_str();
  add_loss_flags(app);
  app.add_flag("--gather-outputs",
               gather_outputs,
               "with the loss in the replica, gather the outputs on the output device all the "
               "same, without gradients, as DataParallel in PyTorch does with a module that "
               "returns its loss and its outputs; for the modes of DataParallel");
}

void ModeChoice::add_loss_flags(CLI::App& app) {
  app.add_flag_function(
         "--loss-in-replica,!--no-loss-in-replica",
         [this](std::int64_t given) {
           if (given == 0)
             throw CLI::ValidationError("--loss-in-replica",
                                        "contradicts --no-loss-in-replica; give one of them");
           loss_in_replica = given > 0;
         },
         "compute the loss on each device, from its own rows; otherwise it is computed on the "
         "output device, from the gathered outputs (default: yes, except for dp-classic)")
      ->disable_flag_override();
  app.add_option("--output-device",
                 output_device,
                 "device where outputs are gathered (default: the first device)");
}

void ModeChoice::check() const {
  if (!gather_outputs) return;
  if (is_single() || name == "ddp")
    throw UsageError(
        fmt::format("--gather-outputs: mode {} has no device where outputs are gathered; leave it "
                    "out, or give a mode of DataParallel, such as --mode dp-classic",
                    name));
  if (!has_loss_in_replica())
    throw UsageError(
        "--gather-outputs: with --no-loss-in-replica outputs are gathered for the loss already; "
        "leave out one of them");
}

parallel::Mode ModeChoice::mode() const {
  const auto at = std::ranges::find(kModes, name, &ModeEntry::name);
  TANDEM_CHECK(at != kModes.end(), "there is no mode '", name, "'");
  return at->mode;
}

std::optional<Device> ModeChoice::device_of_outputs() const {
  if (output_device.empty()) return std::nullopt;
  try {
    return parse_device(output_device);
  } catch (const InvalidArgument& e) {
    throw UsageError(tandem::detail::concat("--output-device: ", e.what()));
  }
}

}  // namespace tandem::cli
