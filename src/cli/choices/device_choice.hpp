// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tandem/runtime/device.hpp"

namespace CLI {
class App;
}

namespace tandem::cli {

/// Which devices a command uses.
struct DeviceChoice {
  std::string list;         ///< empty: the default list
  bool shape_only = false;  ///< account for memory, and compute nothing

  void add_flags(CLI::App& app);
  /// The flag of commands for which this is of use.
  void add_shape_only(CLI::App& app);
  /// The devices that the list names, with their limits set. @throws UsageError  no such list.
  std::vector<Device> devices() const;
  /// The same for a command that works on them. @throws Error  the system's limits are too small.
  std::vector<Device> working_devices() const;

 private:
  std::vector<DeviceSpec> specs() const;
};

}  // namespace tandem::cli
