// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tandem/core/error.hpp"
#include "tandem/data/known_datasets.hpp"
#include "tandem/data/text_dataset.hpp"

#include "cli/diagnosis/finding.hpp"
#include "world/plugin.hpp"

namespace tandem::cli {
namespace {

/// Something that is found by use.
struct Part {
  const char* name;
  std::function<void()> use;  ///< throws if it is not there, with the remedy
};

Finding find_parts(const char* key, const char* title, const std::vector<Part>& parts) {
  std::vector<std::string> found;
  Finding finding{.key = key, .title = title, .says = {}, .remedy = {}, .facts = {}};
  for (const Part& part : parts) {
    std::string missing;
    try {
      part.use();
      found.emplace_back(part.name);
    } catch (const Error& e) {
      missing = e.what();
      finding.remedy += (finding.remedy.empty() ? "" : "; ") + missing;
    }
    finding.facts[part.name] = missing.empty() ? nlohmann::json() : nlohmann::json(missing);
  }
  finding.says = found.empty() ? "none" : fmt::format("{}", fmt::join(found, ", "));
  return finding;
}

Part plugin(const char* name, const char* package) {
  return {name, [=] { world::plugin_function(name, "tandem_make_links", package); }};
}

}  // namespace

Finding find_plugins() {
  return find_parts(
      "plugins",
      "plug-ins",
      {plugin("gloo", "libgloo-dev (Debian)"), plugin("mpi", "libopenmpi-dev (Debian)")});
}

Finding find_data() {
  return find_parts(
      "data",
      "data",
      {{"digits", [] { datasets::load_digits(datasets::Split::test); }},
       {"text", [] { datasets::load_text({}); }},
       {"fashion-mnist", [] { datasets::load_fashion_mnist(datasets::Split::test); }}});
}

}  // namespace tandem::cli
