// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tandem/runtime/device.hpp"
#include "tandem/sim/configure.hpp"

#include "cli/choices/collectives_choice.hpp"
#include "cli/simulation/machine.hpp"

namespace CLI {
class App;
}

namespace tandem::cli {

/// Which devices a command uses.
struct DeviceChoice {
  std::string list;               ///< empty: the default list
  bool shape_only = false;        ///< account for memory, and compute nothing
  std::string cluster;            ///< a machine that is simulated; empty: none
  std::optional<int> gpus;        ///< of that machine; none: all
  CollectivesChoice collectives;  ///< of that machine

  void add_flags(CLI::App& app);
  /// The flags of commands whose times may be those of a machine that is not there.
  ///
  /// @param data  whether its devices compute, unless they are to be shape-only
  void add_cluster(CLI::App& app, sim::ClusterData data);
  /// The flag of commands for which this is of use.
  void add_shape_only(CLI::App& app);
  /// The devices that the list names, with their limits set. @throws UsageError  no such list.
  std::vector<Device> devices() const;
  /// The same for a command that works on them. @throws Error  the system's limits are too small.
  std::vector<Device> working_devices() const;
  /// The same, or the GPUs of the machine that is simulated.
  /// @throws UsageError  there is no such machine, or it has fewer GPUs. @throws Error  as above
  Machine machine() const;

 private:
  std::vector<DeviceSpec> specs() const;

  bool has_cluster_ = false;
  sim::ClusterData cluster_data_ = sim::ClusterData::none;
};

}  // namespace tandem::cli
