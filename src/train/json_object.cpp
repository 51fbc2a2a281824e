// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "train/json_object.hpp"

#include <cstddef>
#include <set>
#include <vector>

#include "tandem/core/check.hpp"

namespace tandem::training {
namespace {

/// Refuses a key that stands twice in one object; the parser would keep the last one.
class UniqueKeys {
 public:
  bool operator()(int depth, Json::parse_event_t event, const Json& parsed) {
    seen_.resize(static_cast<std::size_t>(depth) + 1);
    if (event == Json::parse_event_t::object_start) seen_.emplace_back();
    if (event == Json::parse_event_t::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      TANDEM_CHECK(seen_.back().insert(key).second, "the key '", key, "' appears twice");
    }
    return true;
  }

 private:
  std::vector<std::set<std::string>> seen_;  // by depth
};

}  // namespace

Json parse_object(const std::string& text) try {
  Json json = Json::parse(text, UniqueKeys());
  TANDEM_CHECK(json.is_object(), "it is not a JSON object");
  return json;
} catch (const Json::exception& e) {
  throw InvalidArgument(e.what());
}

const Json& field_of(const Json& object, const std::string& key) {
  const auto at = object.find(key);
  TANDEM_CHECK(at != object.end(), "it has no '", key, "'");
  return *at;
}

std::string text_of(const Json& object, const std::string& key) {
  const Json& value = field_of(object, key);
  TANDEM_CHECK(value.is_string(), "'", key, "' is ", value.dump(), ", which is not a string");
  return value.get<std::string>();
}

}  // namespace tandem::training
