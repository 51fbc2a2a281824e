// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tandem/comm/backend.hpp"
#include "tandem/runtime/device.hpp"

namespace CLI {
class App;
}

namespace tandem::cli {

/// What moves data among devices.
struct BackendChoice {
  std::string name = "local";

  void add_flags(CLI::App& app);
  /// @throws UsageError  the backend is for several processes.
  void check_processes(int processes) const;
  comm::Backend backend() const;
  /// @throws UsageError  the backend cannot serve these devices.
  void check_serves(const std::vector<Device>& devices) const;
};

}  // namespace tandem::cli
