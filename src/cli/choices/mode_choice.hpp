// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tandem/parallel/options.hpp"
#include "tandem/runtime/device.hpp"

#include "parallel/update/mode_rules.hpp"

namespace CLI {
class App;
class Validator;
}  // namespace CLI

namespace tandem::cli {

/// The mode in which the first device trains alone.
inline constexpr const char* kSingleDevice = "single";
/// All modes, as --mode names them, one device alone first.
std::vector<std::string> mode_names();
/// A mode in any spelling ("sharded_gradients") as --mode shows it ("dp-sharded-gradients"); what
/// is no mode stays as it is.
std::string mode_option(const std::string& text);
/// Takes a mode in any spelling, and makes it that of --mode.
CLI::Validator known_mode();

/// The modes of DataParallel of which something holds, as --mode names them: "dp-server and ddp".
std::string mode_options_that(bool (parallel::ModeRules::*holds)() const noexcept);

/// Which mode a model is wrapped in, and where the loss is calculated.
struct ModeChoice {
  std::string name = "dp-sharded";
  std::optional<bool> loss_in_replica;  ///< none: by the mode
  bool gather_outputs = false;          ///< that the loss, which is in the replica, does not need
  std::string output_device;            ///< empty: the first

  /// All but --mode, for commands that take several modes.
  void add_loss_flags(CLI::App& app);
  void add_flags(CLI::App& app);

  bool is_single() const;
  /// Mode single is one device in any mode.
  const parallel::ModeRules& rules() const;
  parallel::Mode mode() const;
  bool has_loss_in_replica() const;
  /// Whether outputs stay where they are, so that a step is one call.
  bool keeps_outputs() const { return has_loss_in_replica() && !gather_outputs; }
  /// @throws UsageError  outputs are to be gathered, where nothing gathers or the loss does
  /// already.
  void check() const;
  /// None: the first. @throws UsageError  no such device.
  std::optional<Device> device_of_outputs() const;
};

}  // namespace tandem::cli
