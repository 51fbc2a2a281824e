// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <nlohmann/json.hpp>

#include "tandem/runtime/runtime.hpp"

#include "cli/commands.hpp"
#include "cli/console.hpp"
#include "cli/setup.hpp"

namespace tandem::cli {

int run_devices(const DevicesRequest& request) {
  RunOptions options;
  options.devices = request.devices;
  const std::vector<Device> list = devices_of(options);
  const int threads = std::max(1, core_count() / static_cast<int>(list.size()));
  nlohmann::json rows = nlohmann::json::array();
  if (!request.json)
    console::print("{:<8} {:>8} {:>12} {:>12}\n", "device", "threads", "limit", "in use");
  for (const Device d : list) {
    const LogicalDevice& device = logical_device(d);
    const bool limited = device.limit() != SIZE_MAX;
    if (request.json) {
      rows.push_back({{"name", to_string(d)},
                      {"type", name(d.type)},
                      {"threads", threads},
                      {"limit_bytes", limited ? nlohmann::json(device.limit()) : nlohmann::json()},
                      {"in_use_bytes", device.memory_stats().in_use}});
    } else {
      console::print("{:<8} {:>8} {:>12} {:>12}\n",
                     to_string(d),
                     threads,
                     limited ? format_nbytes(device.limit()) : "none",
                     format_nbytes(device.memory_stats().in_use));
    }
  }
  if (request.json)
    console::print(
        "{}\n",
        nlohmann::json{{"schema_version", 1}, {"cores", core_count()}, {"devices", rows}}.dump(2));
  return 0;
}

}  // namespace tandem::cli
