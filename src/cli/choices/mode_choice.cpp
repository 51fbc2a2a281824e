// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/choices/mode_choice.hpp"

#include <algorithm>
#include <array>

#include <CLI/CLI.hpp>

#include "tandem/core/check.hpp"

#include "cli/usage_error.hpp"

namespace tandem::cli {
namespace {

struct ModeEntry {
  const char* name;
  parallel::Mode mode;
};
constexpr std::array kModes{
    ModeEntry{"single", parallel::Mode::sharded},
    ModeEntry{"dp-classic", parallel::Mode::classic},
    ModeEntry{"dp-server", parallel::Mode::server},
    ModeEntry{"dp-sharded", parallel::Mode::sharded},
    ModeEntry{"ddp", parallel::Mode::ddp},
};

}  // namespace

std::vector<std::string> mode_names() {
  std::vector<std::string> names;
  for (const ModeEntry& entry : kModes)
    names.emplace_back(entry.name);
  return names;
}

void ModeChoice::add_flags(CLI::App& app) {
  app.add_option(
         "--mode",
         name,
         "who updates what: the first device alone (single); DataParallel as PyTorch's is "
         "(dp-classic), with all updates on the first device (dp-server), or each device its "
         "share (dp-sharded); DistributedDataParallel, each device its copy (ddp)")
      ->check(CLI::IsMember(mode_names()))
      ->capture_default_str();
  add_loss_flags(app);
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
         "calculate the loss on each device, of its own rows; otherwise it is calculated on the "
         "output device, of the gathered outputs (default: yes, except for dp-classic)")
      ->disable_flag_override();
  app.add_option("--output-device",
                 output_device,
                 "device where outputs are gathered (default: the first device)");
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
