// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace tandem::sim {

/// A file of src/sim/machine/presets, without its suffix, and its content.
struct PresetText {
  std::string_view name;
  std::string_view json;
};

/// All of them, sorted by name. CMake writes the source from the files.
std::span<const PresetText> preset_texts();

}  // namespace tandem::sim
