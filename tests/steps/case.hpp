// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <random>
#include <string>
#include <vector>

#include "steps/side.hpp"

namespace tandem::steps {

/// A training and what is done in it, statement by statement.
///
/// A statement is a line of Side::run. "fail K" before one lets its K-th piece of work fail first,
/// and "look" at its end compares all that a user can read, which is compared after the last one
/// anyway.
struct Case {
  Setup setup;
  std::vector<std::string> statements;
};

/// Any case that tandem is to take.
Case random_case(std::mt19937_64& random);
/// One that is short and ends with a step of the optimizer.
Case case_of_a_step(std::mt19937_64& random);
/// Lines "name value" of the setup, and the statements, indented by two blanks.
std::string to_text(const Case& c);
/// @throws std::invalid_argument  a line is neither.
Case parse_case(const std::string& text);
/// A program of C++ that runs the case against one device. @param side  the text of side.hpp
std::string to_program(const Case& c, const std::string& side, const std::string& finding);

}  // namespace tandem::steps
