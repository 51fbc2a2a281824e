// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "tandem/runtime/cpu_capability.hpp"
#include "tandem/runtime/runtime.hpp"

#include "cli/choices/device_choice.hpp"
#include "cli/choices/json_choice.hpp"
#include "cli/command.hpp"
#include "cli/console.hpp"
#include "kernels/product_table.hpp"
#include "kernels/variants.hpp"

namespace tandem::cli {
namespace {

struct DevicesRequest {
  DeviceChoice devices;
  JsonChoice json;

  void add_flags(CLI::App& app) {
    devices.add_flags(app);
    json.add_flags(app);
  }
  int run() const;
};

int threads_of_each(std::size_t devices) {
  return std::max(1, core_count() / static_cast<int>(devices));
}

/// What the host's kernels use of the processor, and which library carries out which product.
nlohmann::json processor() {
  auto products = nlohmann::json::array();
  for (const auto& row : kernels::product_table(get_cpu_capability())) {
    products.push_back({{"form", name(row.form)},
                        {"size", name(row.size)},
                        {"library", name(kernels::product_library(row.form, row.size))}});
  }
  return {{"capability", name(get_cpu_capability())},
          {"kernels", kernels::variant()},
          {"products", products}};
}

nlohmann::json to_json(const std::vector<Device>& devices) {
  auto rows = nlohmann::json::array();
  for (const Device d : devices) {
    const LogicalDevice& device = logical_device(d);
    const bool limited = device.limit() != SIZE_MAX;
    rows.push_back({{"name", to_string(d)},
                    {"type", name(d.type)},
                    {"threads", threads_of_each(devices.size())},
                    {"limit_bytes", limited ? nlohmann::json(device.limit()) : nlohmann::json()},
                    {"in_use_bytes", device.memory_stats().in_use},
                    {"shape_only", !device.has_data()}});
  }
  return {{"schema_version", 1},
          {"cores", core_count()},
          {"processor", processor()},
          {"devices", rows}};
}

void print_table(const std::vector<Device>& devices) {
  console::print("{:<8} {:>8} {:>12} {:>12}\n", "device", "threads", "limit", "in use");
  for (const Device d : devices) {
    const LogicalDevice& device = logical_device(d);
    console::print("{:<8} {:>8} {:>12} {:>12}{}\n",
                   to_string(d),
                   threads_of_each(devices.size()),
                   device.limit() != SIZE_MAX ? format_nbytes(device.limit()) : "none",
                   format_nbytes(device.memory_stats().in_use),
                   device.has_data() ? "" : "  shape-only");
  }
  console::print("{} cores, {}; kernels for {}\n",
                 core_count(),
                 name(get_cpu_capability()),
                 kernels::variant());
}

int DevicesRequest::run() const {
  const std::vector<Device> list = devices.devices();
  check_files({json.given_file()});
  json.write([&] { return to_json(list); });
  if (json.leaves_text()) print_table(list);
  return 0;
}

}  // namespace

Command devices_command() {
  return make_command<DevicesRequest>({.name = "devices",
                                       .summary = "list the devices of this machine",
                                       .purpose = Purpose::machines});
}

}  // namespace tandem::cli
