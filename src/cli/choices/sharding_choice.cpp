// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/choices/sharding_choice.hpp"

#include <CLI/CLI.hpp>

#include "tandem/core/check.hpp"
#include "tandem/core/error.hpp"

#include "cli/subject.hpp"
#include "cli/usage_error.hpp"
#include "cli/validators.hpp"

namespace tandem::cli {

using tandem::detail::concat;

void ShardingChoice::add_flags(CLI::App& app) {
  begin_subject(app, Subject::mode);
  app.add_option("--units",
                 units,
                 "modules whose parameters are gathered together, by name, for "
                 "dp-sharded-gradients and dp-fully-sharded: blocks.*,head (default: the direct "
                 "parts of the model)")
      ->delimiter(',');
  app.add_flag("--no-reshard-after-forward",
               keeps_units,
               "for dp-fully-sharded: keep what forward has gathered until the end of backward, "
               "which sends less and takes more memory");
  app.add_option("--offload",
                 offload,
                 "for dp-fully-sharded: device outside of --devices that keeps all shares of the "
                 "model and updates them, such as cpu:9");
  app.add_option("--prefetch",
                 prefetch,
                 "for dp-fully-sharded: how many units are gathered ahead of the one that is used; "
                 "GPUs do it beside their work, virtual devices gain nothing")
      ->check(at_least(0))
      ->capture_default_str();
}

parallel::Sharding ShardingChoice::in(parallel::Mode mode) const {
  parallel::Sharding sharding;
  if (!units.empty()) sharding.units = parallel::UnitPolicy::names(units);
  if (!parallel::rules_of(mode).gathers_values()) return sharding;
  sharding.reshard_after_forward = !keeps_units;
  sharding.prefetch = static_cast<std::size_t>(prefetch);
  if (!offloads()) return sharding;
  try {
    sharding.offload = parse_device(offload);
  } catch (const InvalidArgument& e) {
    throw UsageError(concat("--offload: ", e.what()));
  }
  return sharding;
}

void ShardingChoice::apply(parallel::DataParallelOptions& options) const {
  options.sharding = in(options.mode);
  for (const Device device : options.devices)
    if (device == options.sharding.offload)
      throw UsageError(
          concat("--offload ", offload, " is one of --devices; give one outside of them"));
}

void ShardingChoice::check(const ModeChoice& mode) const {
  using parallel::ModeRules;
  const ModeRules& rules = mode.rules();
  const auto refuse = [&](const char* flag, bool (ModeRules::*holds)() const noexcept) {
    if ((rules.*holds)()) return;
    throw UsageError(concat(flag,
                            " is for --mode ",
                            mode_options_that(holds),
                            ", and this is ",
                            mode.name,
                            "; leave it out, or change the mode"));
  };
  if (keeps_units) refuse("--no-reshard-after-forward", &ModeRules::gathers_values);
  if (offloads()) refuse("--offload", &ModeRules::gathers_values);
  if (prefetch > 0) refuse("--prefetch", &ModeRules::gathers_values);
  if (!units.empty()) refuse("--units", &ModeRules::has_units);
}

}  // namespace tandem::cli
