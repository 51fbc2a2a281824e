// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/choices/mode_choice.hpp"

#include <algorithm>
#include <span>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "tandem/core/check.hpp"

#include "cli/subject.hpp"
#include "cli/usage_error.hpp"
#include "parallel/update/mode_table.hpp"

namespace tandem::cli {
namespace {

constexpr parallel::Mode kOfSingle = parallel::Mode::sharded;  // any: one device has all

}  // namespace

std::vector<std::string> mode_names() {
  std::vector<std::string> names{kSingleDevice};
  for (const parallel::ModeRules& row : parallel::mode_table())
    names.emplace_back(row.words.option);
  return names;
}

std::string mode_option(const std::string& text) {
  const std::optional<parallel::Mode> known = parallel::parse_mode(text);
  return known ? parallel::words_of(*known).option : text;
}

CLI::Validator known_mode() {
  return CLI::IsMember(mode_names(), mode_option);
}

std::string mode_options_that(bool (parallel::ModeRules::*holds)() const noexcept) {
  return parallel::list_modes(holds,
                              [](const parallel::ModeRules& row) { return row.words.option; });
}

void ModeChoice::add_flags(CLI::App& app) {
  begin_subject(app, Subject::mode);
  std::vector<std::string> summaries{fmt::format("the first device alone ({})", kSingleDevice)};
  for (const parallel::ModeRules& row : parallel::mode_table())
    summaries.push_back(fmt::format("{} ({})", row.words.summary, row.words.option));
  app.add_option("--mode", name, fmt::format("who updates what: {}", fmt::join(summaries, "; ")))
      ->transform(known_mode())
      ->capture_default_str();
  add_loss_flags(app);
  app.add_flag("--gather-outputs",
               gather_outputs,
               "with the loss in the replica, gather the outputs on the output device all the "
               "same, without gradients, as DataParallel in PyTorch does with a module that "
               "returns its loss and its outputs; for the modes of DataParallel");
}

void ModeChoice::add_loss_flags(CLI::App& app) {
  begin_subject(app, Subject::mode);
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
  if (is_single() || rules().are_devices_alike())
    throw UsageError(
        fmt::format("--gather-outputs: mode {} has no device where outputs are gathered; leave it "
                    "out, or give a mode of DataParallel, such as --mode dp-classic",
                    name));
  if (!has_loss_in_replica())
    throw UsageError(
        "--gather-outputs: with --no-loss-in-replica outputs are gathered for the loss already; "
        "leave out one of them");
}

bool ModeChoice::is_single() const {
  return name == kSingleDevice;
}

bool ModeChoice::has_loss_in_replica() const {
  return loss_in_replica.value_or(gather_outputs || is_single() || !rules().sends_all());
}

const parallel::ModeRules& ModeChoice::rules() const {
  if (is_single()) return parallel::rules_of(kOfSingle);
  const std::span<const parallel::ModeRules> table = parallel::mode_table();
  const auto row = std::ranges::find_if(
      table, [&](const parallel::ModeRules& rules) { return rules.words.option == name; });
  TANDEM_CHECK(row != table.end(), "there is no mode '", name, "'");
  return *row;
}

parallel::Mode ModeChoice::mode() const {
  return rules().mode;
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
