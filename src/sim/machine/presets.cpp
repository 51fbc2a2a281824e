// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/sim/presets.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "tandem/core/check.hpp"

#include "sim/machine/preset_texts.hpp"

namespace tandem::sim {
namespace {

const PresetText* find_preset(std::string_view name) {
  const std::span<const PresetText> all = preset_texts();
  const auto at = std::ranges::find(all, name, &PresetText::name);
  return at == all.end() ? nullptr : &*at;
}

std::string listed_presets() {
  std::string text;
  for (const PresetText& one : preset_texts())
    text += (text.empty() ? "" : ", ") + std::string(one.name);
  return text;
}

}  // namespace

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const PresetText& one : preset_texts())
    names.emplace_back(one.name);
  return names;
}

Cluster preset(std::string_view name) {
  const PresetText* found = find_preset(name);
  TANDEM_CHECK(found != nullptr,
               "there is no preset '",
               name,
               "' of a cluster; there are ",
               listed_presets());
  return parse_cluster(found->json);
}

Cluster find_cluster(const std::string& name_or_path) {
  if (find_preset(name_or_path) != nullptr) return preset(name_or_path);
  std::error_code ignored;
  TANDEM_CHECK(std::filesystem::exists(name_or_path, ignored),
               "'",
               name_or_path,
               "' is neither a file nor a preset of a cluster; the presets are ",
               listed_presets());
  return read_cluster(name_or_path);
}

std::optional<Cluster> cluster_of_environment() {
  const char* const name = std::getenv("TANDEM_CLUSTER");
  if (name == nullptr || *name == '\0') return std::nullopt;
  try {
    return find_cluster(name);
  } catch (const InvalidArgument& e) {
    throw InvalidArgument(detail::concat("TANDEM_CLUSTER: ", e.what()));
  }
}

}  // namespace tandem::sim
