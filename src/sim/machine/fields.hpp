// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "sim/machine/quantity.hpp"

namespace tandem::sim {

/// The fields of an object of a description, each of which is read once. All functions throw
/// InvalidArgument with the path of a field that is missing or of another type.
class Fields {
 public:
  /// @param path  of the object; empty for the whole description
  Fields(const nlohmann::json& object, std::string path);

  std::string text(const char* name);
  int integer(const char* name);
  double number(const char* name);
  bool flag(const char* name);
  double quantity(const char* name, Dimension dimension);
  /// Nothing if the field is missing or null.
  std::optional<double> optional_quantity(const char* name, Dimension dimension);
  std::optional<Fields> optional_object(const char* name);
  Fields object(const char* name);
  /// The objects of an array; none if the field is missing.
  std::vector<Fields> objects(const char* name);
  std::vector<int> integers(const char* name);
  std::vector<std::string> texts(const char* name);
  /// The value that has the field's text as its name.
  template <class Value>
  Value choice(const char* name, const std::vector<std::pair<const char*, Value>>& choices);

  /// Whether there is a field that may be left out.
  bool has(const char* name) {
    read_.insert(name);
    return object_->contains(name);
  }
  std::string path_of(const std::string& name) const;
  const nlohmann::json& json() const { return *object_; }
  /// Refuses fields that were not read.
  void finish() const;

 private:
  const nlohmann::json& value(const char* name);
  const nlohmann::json* find(const char* name);

  const nlohmann::json* object_;
  std::string path_;
  std::set<std::string> read_ = {};
};

/// A wrong value as a message shows it: ASCII, and not longer than a line.
std::string shown_json(const nlohmann::json& value);

/// Throws InvalidArgument: "<path>: <problem>".
[[noreturn]] void refuse_field(const std::string& path, const std::string& problem);

template <class Value>
Value Fields::choice(const char* name, const std::vector<std::pair<const char*, Value>>& choices) {
  const std::string given = text(name);
  std::string names;
  for (const auto& [known, chosen] : choices) {
    if (given == known) return chosen;
    names += std::string(names.empty() ? "" : " or ") + '"' + known + '"';
  }
  refuse_field(path_of(name), "\"" + given + "\"; it must be " + names);
}

}  // namespace tandem::sim
