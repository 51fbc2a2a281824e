// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "sim/step/known_error.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tandem/sim/presets.hpp"

namespace tandem::sim {
namespace {

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

/// All but the words.
std::string figures_of(Cluster cluster) {
  cluster.name = cluster.about = cluster.known_error = "";
  cluster.compared.reset();
  cluster.sources.clear();
  return to_json(cluster);
}

/// Whether a preset has the same words for other figures.
bool is_edited(const Cluster& cluster) {
  using Known = std::pair<std::string, std::string>;  // error, figures
  static const std::vector<Known> presets = [] {
    std::vector<Known> all;
    for (const std::string& name : preset_names()) {
      const Cluster one = preset(name);
      if (!one.known_error.empty()) all.emplace_back(one.known_error, figures_of(one));
    }
    return all;
  }();
  const auto has_words = [&](const Known& known) { return known.first == cluster.known_error; };
  if (std::ranges::none_of(presets, has_words)) return false;
  const std::string figures = figures_of(cluster);
  return std::ranges::none_of(
      presets, [&](const Known& known) { return has_words(known) && known.second == figures; });
}

}  // namespace

bool speaks_of(const Cluster& cluster, const std::optional<StepQuestion>& question) {
  if (cluster.known_error.empty()) return true;  // it says nothing
  if (is_edited(cluster)) return false;
  if (!cluster.compared) return true;
  const ComparedSteps& compared = *cluster.compared;
  return question && has(compared.models, question->model) &&
         has(compared.dtypes, question->dtype) &&
         std::ranges::all_of(question->modes,
                             [&](const std::string& mode) { return has(compared.modes, mode); });
}

}  // namespace tandem::sim
