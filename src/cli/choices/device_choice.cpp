// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/choices/device_choice.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include <CLI/CLI.hpp>

#include "tandem/core/check.hpp"
#include "tandem/runtime/runtime.hpp"

#include "cli/choices/cluster_choice.hpp"
#include "cli/limits.hpp"
#include "cli/subject.hpp"
#include "cli/usage_error.hpp"
#include "cli/validators.hpp"
#include "runtime/gpu/gpu_backend.hpp"

namespace tandem::cli {
namespace {

/// What those want who name GPUs to a program that has none; empty: the list names none.
std::string_view instead_of_gpus(std::string_view list) {
  if (gpu_backend().has_gpus() || list.find("cuda") == std::string_view::npos) return {};
  return "; for a program of PyTorch name it, too: tandem memory --devices cuda:4 train.py, where "
         "a stand-in plays four GPUs";
}

}  // namespace

void DeviceChoice::add_flags(CLI::App& app) {
  begin_subject(app, Subject::devices);
  app.add_option(
      "--devices",
      list,
      "list of devices, joined by commas: cpu:N is N virtual devices of this machine, and @SIZE "
      "limits each (cpu:4@512MiB); @shape-only makes them account for memory and compute nothing "
      "(cpu:8@shape-only); in all other options cpu:1 names one device. Default: TANDEM_DEVICES, "
      "or else one device per core");
}

void DeviceChoice::add_shape_only(CLI::App& app) {
  begin_subject(app, Subject::devices);
  app.add_flag("--shape-only",
               shape_only,
               "compute nothing, but account for all memory: the same figures to the byte, in "
               "little time and memory, also for models that are too large for this machine");
}

void DeviceChoice::add_cluster(CLI::App& app, sim::ClusterData data) {
  begin_subject(app, Subject::machine);
  has_cluster_ = true;
  cluster_data_ = data;
  app.add_option("--cluster",
                 cluster,
                 "simulate the GPUs of this machine, in memory and time: a preset (tandem cluster "
                 "list), or a file that describes one. Default: TANDEM_CLUSTER, unless --devices "
                 "is given");
  app.add_option("--gpus", gpus, "number of the machine's GPUs (default: all)")->check(at_least(1));
  collectives.add_flags(app);
}

std::vector<DeviceSpec> DeviceChoice::specs() const {
  std::vector<DeviceSpec> specs;
  if (!list.empty()) {
    specs = parse_devices(list);
  } else {
    for (const Device device : default_devices()) {
      const std::size_t limit = logical_device(device).limit();
      specs.push_back(
          {device, limit == SIZE_MAX ? std::nullopt : std::optional<std::size_t>(limit)});
    }
  }
  for (DeviceSpec& spec : specs)
    spec.has_data = false;
  return specs;
}

std::vector<Device> DeviceChoice::devices() const {
  try {
    if (!shape_only) return list.empty() ? default_devices() : configure_devices(list);
    Runtime::instance().configure(specs());
    return default_devices();
  } catch (const InvalidArgument& e) {
    throw UsageError(
        tandem::detail::concat(list.empty() ? "" : "--devices: ", e.what(), instead_of_gpus(list)));
  }
}

std::vector<Device> DeviceChoice::working_devices() const {
  std::vector<Device> working = devices();
  check_limits(working.size());
  return working;
}

Machine DeviceChoice::machine() const {
  const auto described = has_cluster_ ? simulated_cluster(cluster, list) : std::nullopt;
  if (!described) {
    if (gpus) throw UsageError("--gpus are of a cluster; give --cluster, or --devices instead");
    if (collectives.is_as_run())
      throw UsageError("--collectives is for the times of a cluster; give --cluster too");
    return Machine(working_devices());
  }
  collectives.check(*described);
  const int count = asked_devices(*described, gpus);
  check_limits(static_cast<std::size_t>(count));
  const auto data = shape_only ? sim::ClusterData::none : cluster_data_;
  return Machine(sim::configure_cluster(*described, count, data), collectives.times());
}

}  // namespace tandem::cli
