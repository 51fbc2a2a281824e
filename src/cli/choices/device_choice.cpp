// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/choices/device_choice.hpp"

#include <CLI/CLI.hpp>

#include "tandem/core/check.hpp"
#include "tandem/runtime/runtime.hpp"

#include "cli/limits.hpp"
#include "cli/usage_error.hpp"

namespace tandem::cli {

void DeviceChoice::add_flags(CLI::App& app) {
  app.add_option(
      "--devices",
      list,
      "list of devices, joined by commas: cpu:N is N virtual devices of this machine, and @SIZE "
      "limits each (cpu:4@512MiB); in all other options cpu:1 names one device. Default: "
      "TANDEM_DEVICES, or else one device per core");
}

std::vector<Device> DeviceChoice::devices() const {
  try {
    return list.empty() ? default_devices() : configure_devices(list);
  } catch (const InvalidArgument& e) {
    throw UsageError(tandem::detail::concat(list.empty() ? "" : "--devices: ", e.what()));
  }
}

std::vector<Device> DeviceChoice::working_devices() const {
  std::vector<Device> working = devices();
  check_limits(working.size());
  return working;
}

}  // namespace tandem::cli
