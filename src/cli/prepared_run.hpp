// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "cli/output_files.hpp"
#include "cli/run_options.hpp"
#include "cli/simulation/machine.hpp"

namespace tandem::cli {

/// A run that can begin.
struct PreparedRun {
  RunOptions options;  ///< resolved
  Machine machine;
  DataSets sets;
};

/// What the commands that train do before they train: checks the options, tries the files that will
/// be written, configures the devices and reads the data. Unless it is to be quiet, it says where a
/// batch is smaller than what was asked for, and which devices get no rows of it.
///
/// @throws UsageError  options that do not go together.
/// @throws Error       limits, files or data.
PreparedRun prepare_run(RunOptions options, std::vector<GivenFile> written);

}  // namespace tandem::cli
