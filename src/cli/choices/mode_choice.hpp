// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tandem/parallel/options.hpp"
#include "tandem/runtime/device.hpp"

namespace CLI {
class App;
}

namespace tandem::cli {

/// All modes, one device alone first.
std::vector<std::string> mode_names();

/// Which mode a model is wrapped in, and where the loss is calculated.
struct ModeChoice {
  std::string name = "dp-sharded";
  std::optional<bool> loss_in_replica;  ///< none: by the mode
  bool gather_outputs = false;          ///< that the loss, which is in the replica, does not need
  std::string output_device;            ///< empty: the first

  /// All but --mode, for commands that take several modes.
  void add_loss_flags(CLI::App& app);
  void add_flags(CLI::App& app);

  bool is_single() const { return name == "single"; }
  /// Mode single is one device in any mode.
  parallel::Mode mode() const;
  bool has_loss_in_replica() const {
    return loss_in_replica.value_or(gather_outputs || name != "dp-classic");
  }
  /// Whether outputs stay where they are, so that a step is one call.
  bool keeps_outputs() const { return has_loss_in_replica() && !gather_outputs; }
  /// @throws UsageError  outputs are to be gathered, where nothing gathers or the loss does
  /// already.
  void check() const;
  /// None: the first. @throws UsageError  no such device.
  std::optional<Device> device_of_outputs() const;
};

}  // namespace tandem::cli
