// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "tandem/core/check.hpp"
#include "tandem/core/error.hpp"

namespace tandem::python {

/// An argument's value.
///
/// @param wanted  what it has to be, as an error says it: "an int".
/// @throws InvalidArgument  it is something else.
template <class T>
T as_argument(nanobind::handle value, const std::string& name, const char* wanted) {
  T x;
  TANDEM_CHECK(nanobind::try_cast(value, x),
               name,
               " is ",
               nanobind::cast<std::string>(nanobind::repr(value)),
               ", but ",
               wanted,
               " is wanted");
  return x;
}

/// The names of a map, as an error lists them.
template <class T>
std::string names_of(const std::map<std::string, T>& known) {
  std::string all;
  for (const auto& [name, meaning] : known)
    all += (all.empty() ? "'" : ", '") + name + "'";
  return all;
}

/// What goes with an argument's text.
///
/// @throws InvalidArgument  it is none of the choices.
template <class T>
T choice(nanobind::handle value, const std::string& name, const std::map<std::string, T>& choices) {
  const auto text = as_argument<std::string>(value, name, "a text");
  const auto found = choices.find(text);
  if (found != choices.end()) return found->second;
  throw InvalidArgument(name + " is '" + text + "'; give one of " + names_of(choices));
}

}  // namespace tandem::python
