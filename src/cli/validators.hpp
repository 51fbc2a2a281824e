// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace tandem::cli {

/// A whole number.
CLI::Validator at_least(std::int64_t least);
/// A number of 64 bits without a sign.
CLI::Validator seed_number();
/// A finite number above 0, or from 0 on.
CLI::Validator above_zero();
CLI::Validator zero_or_more();
/// A number of a range that includes its ends.
CLI::Validator within(double least, double most);
/// One value or more, joined by commas; each holds what `one` asks for, or becomes what it makes of
/// it.
CLI::Validator list_of(const CLI::Validator& one);

/// Turns /dev/stdout into "-", so that results go to stdout like all others.
CLI::Validator dash_for_stdout();

/// The parts of a list joined by commas.
std::vector<std::string> split_list(const std::string& text);
/// The numbers of a list that list_of(at_least(...)) has passed.
std::vector<std::int64_t> split_numbers(const std::string& text);

}  // namespace tandem::cli
