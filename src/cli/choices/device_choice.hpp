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
  std::string list;  ///< empty: the default list

  void add_flags(CLI::App& app);
  /// The devices that the list names, with their limits set. @throws UsageError  no such list.
  std::vector<Device> devices() const;
  /// The same for a command that works on them. @throws Error  the system's limits are too small.
  std::vector<Device> working_devices() const;
};

}  // namespace tandem::cli
