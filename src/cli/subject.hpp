// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tandem::cli {

/// What flags are about: the groups of --help-all, in its order.
enum class Subject : std::uint8_t {
  model,
  data,
  optimizer,
  precision,
  steps,
  batch,
  mode,
  devices,
  machine,
  collectives,
  tables,
  checkpoints,
  text,
  processes,
  output,
  help,
};

/// The flags that are added to `app` from here on are about `subject`.
void begin_subject(CLI::App& app, Subject subject);

/// "Model", "Data" and so on.
std::string title(Subject subject);
std::vector<std::string> all_subjects();

}  // namespace tandem::cli
