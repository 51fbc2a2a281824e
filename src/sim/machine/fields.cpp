// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "sim/machine/fields.hpp"

#include <algorithm>
#include <limits>

#include "tandem/core/check.hpp"

namespace tandem::sim {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kShown = 60;  // characters of a wrong value

}  // namespace

std::string shown_json(const Json& value) {
  const std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  return text.size() <= kShown ? text : text.substr(0, kShown) + "...";
}

void refuse_field(const std::string& path, const std::string& problem) {
  throw InvalidArgument(detail::concat(path.empty() ? "the description" : path, ": ", problem));
}

Fields::Fields(const Json& object, std::string path) : object_(&object), path_(std::move(path)) {
  if (!object.is_object()) refuse_field(path_, shown_json(object) + "; it must be an object");
}

std::string Fields::path_of(const std::string& name) const {
  return path_.empty() ? name : path_ + "." + name;
}

const Json* Fields::find(const char* name) {
  read_.insert(name);
  const auto at = object_->find(name);
  return at == object_->end() || at->is_null() ? nullptr : &*at;
}

const Json& Fields::value(const char* name) {
  const Json* found = find(name);
  if (found == nullptr) refuse_field(path_of(name), "is missing; the description must have it");
  return *found;
}

std::string Fields::text(const char* name) {
  const Json& v = value(name);
  if (!v.is_string()) refuse_field(path_of(name), shown_json(v) + "; it must be a text");
  return v.get<std::string>();
}

int Fields::integer(const char* name) {
  const Json& v = value(name);
  if (!v.is_number_integer() || v.get<double>() > std::numeric_limits<int>::max() ||
      v.get<double>() < std::numeric_limits<int>::min())
    refuse_field(path_of(name), shown_json(v) + "; it must be a whole number");
  return v.get<int>();
}

double Fields::number(const char* name) {
  const Json& v = value(name);
  if (!v.is_number()) refuse_field(path_of(name), shown_json(v) + "; it must be a number");
  return v.get<double>();
}

bool Fields::flag(const char* name) {
  const Json& v = value(name);
  if (!v.is_boolean()) refuse_field(path_of(name), shown_json(v) + "; it must be true or false");
  return v.get<bool>();
}

double Fields::quantity(const char* name, Dimension dimension) {
  value(name);
  return *optional_quantity(name, dimension);
}

std::optional<double> Fields::optional_quantity(const char* name, Dimension dimension) {
  const Json* v = find(name);
  if (v == nullptr) return std::nullopt;
  const std::optional<double> parsed =
      v->is_string() ? parse_quantity(dimension, v->get_ref<const std::string&>()) : std::nullopt;
  if (!parsed) {
    refuse_field(path_of(name),
                 detail::concat(shown_json(*v),
                                "; it must be a number with a unit, like \"5 ",
                                usual_unit(dimension),
                                "\""));
  }
  return parsed;
}

std::optional<Fields> Fields::optional_object(const char* name) {
  const Json* v = find(name);
  if (v == nullptr) return std::nullopt;
  return Fields(*v, path_of(name));
}

Fields Fields::object(const char* name) {
  return {value(name), path_of(name)};
}

std::vector<Fields> Fields::objects(const char* name) {
  const Json* v = find(name);
  std::vector<Fields> found;
  if (v == nullptr) return found;
  if (!v->is_array()) refuse_field(path_of(name), shown_json(*v) + "; it must be a list");
  for (std::size_t i = 0; i < v->size(); ++i)
    found.emplace_back((*v)[i], detail::concat(path_of(name), "[", i, "]"));
  return found;
}

std::vector<int> Fields::integers(const char* name) {
  const Json& v = value(name);
  std::vector<int> found;
  const bool is_good =
      v.is_array() && std::all_of(v.begin(), v.end(), [](const Json& one) {
        return one.is_number_integer() && one.get<double>() >= 0 && one.get<double>() < 1e6;
      });
  if (!is_good)
    refuse_field(path_of(name), shown_json(v) + "; it must be a list of GPUs, counted from 0");
  for (const Json& one : v)
    found.push_back(one.get<int>());
  return found;
}

std::vector<std::string> Fields::texts(const char* name) {
  const Json& v = value(name);
  const bool is_good =
      v.is_array() && std::ranges::all_of(v, [](const Json& one) { return one.is_string(); });
  if (!is_good) refuse_field(path_of(name), shown_json(v) + "; it must be a list of texts");
  return v.get<std::vector<std::string>>();
}

void Fields::finish() const {
  for (const auto& [name, value] : object_->items()) {
    if (read_.contains(name)) continue;
    std::string known;
    for (const std::string& one : read_)
      known += (known.empty() ? "" : ", ") + one;
    refuse_field(path_of(name), "is unknown; the fields here are " + known);
  }
}

}  // namespace tandem::sim
