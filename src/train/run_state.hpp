// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "tandem/train/checkpoint.hpp"

namespace tandem::training {

/// JSON text of a run's state, for a checkpoint's metadata.
std::string format_run_state(const RunState& state);
/// The state that `text` holds.
///
/// @throws InvalidArgument  no such JSON, or a number that no run has: a count that is negative, a
///                          fraction or too large to go on from; the text has its name and value.
RunState parse_run_state(const std::string& text);

/// Numbers by name: an optimizer's and a schedule's.
std::string format_numbers(const std::map<std::string, double>& numbers);
/// @throws InvalidArgument  no JSON of numbers by name, each once.
std::map<std::string, double> parse_numbers(const std::string& text);

}  // namespace tandem::training
