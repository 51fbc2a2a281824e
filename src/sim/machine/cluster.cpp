// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/sim/cluster.hpp"

#include <cstddef>
#include <set>
#include <span>
#include <string>

#include <nlohmann/json.hpp>

#include "tandem/core/check.hpp"
#include "tandem/io/file.hpp"

#include "sim/machine/cluster_check.hpp"
#include "sim/machine/cluster_reader.hpp"
#include "sim/machine/cluster_writer.hpp"
#include "sim/machine/fields.hpp"
#include "sim/machine/figure_check.hpp"

namespace tandem::sim {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kMostBytes = 1 << 20;  // of a description
constexpr int kMostDepth = 16;

/// Objects whose fields are given twice, of which a JSON parser would keep the last one silently.
Json parse_json(std::string_view text) {
  std::vector<std::set<std::string>> names;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& value) {
    if (depth > kMostDepth) refuse_field("", "has objects in objects, too deep");
    if (event == Json::parse_event_t::object_start) names.emplace_back();
    if (event == Json::parse_event_t::object_end) names.pop_back();
    if (event == Json::parse_event_t::key && !names.back().insert(value.get<std::string>()).second)
      refuse_field(value.get<std::string>(), "is given twice in one object; leave one out");
    return true;
  };
  try {
    return Json::parse(text, watch);
  } catch (const Json::exception& e) {
    throw InvalidArgument(detail::concat("the description is not JSON: ", e.what()));
  }
}

void add_figures(const nlohmann::ordered_json& value,
                 const std::string& path,
                 const std::map<std::string, std::string>& sources,
                 std::vector<std::string>& missing) {
  if (sources.contains(path) || value.is_null() || value.is_boolean()) return;
  if (!value.is_object()) {
    missing.push_back(path);
    return;
  }
  for (const auto& [name, field] : value.items())
    add_figures(field, detail::concat(path, ".", name), sources, missing);
}

void check_compared(const ComparedSteps& compared) {
  for (const auto* names : {&compared.models, &compared.dtypes, &compared.modes}) {
    for (const std::string& name : *names)
      check_words("compared", name);
  }
}

}  // namespace

double Peaks::of(DType dtype) const noexcept {
  switch (dtype) {
    case DType::f32:
      return f32;
    case DType::bf16:
      return bf16.value_or(0);
    case DType::f16:
      return f16.value_or(0);
    case DType::f64:
      return f64.value_or(0);
    default:
      return 0;
  }
}

void check(const Cluster& cluster) {
  if (cluster.name.empty()) refuse_field("name", "is empty; give the machine a name");
  check_words("name", cluster.name);
  check_words("about", cluster.about);
  check_words("known_error", cluster.known_error);
  if (cluster.compared) check_compared(*cluster.compared);
  check_gpus(cluster.gpus);
  if (cluster.nvlink) check_nvlink(*cluster.nvlink, cluster.gpus);
  check_pcie(cluster.pcie, cluster.gpus);
  check_between_nodes(cluster);
  check_collectives(cluster);
}

Cluster parse_cluster(std::string_view json) {
  Cluster cluster = read_description(parse_json(json));
  check(cluster);
  return cluster;
}

std::string to_json(const Cluster& cluster) {
  return description_of(cluster).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Cluster read_cluster(const std::string& path) {
  const FileReader file(path);
  if (file.size() > kMostBytes)
    throw FileError(path, -1, "is larger than 1 MiB, which no description of a cluster is");
  std::string text(file.size(), '\0');
  file.read_at(0, std::as_writable_bytes(std::span(text)));
  try {
    return parse_cluster(text);
  } catch (const InvalidArgument& e) {
    throw FileError(path, -1, e.what());
  }
}

std::vector<std::string> figures_without_source(const Cluster& cluster) {
  std::vector<std::string> missing;
  const nlohmann::ordered_json description = description_of(cluster);
  for (const char* part : {"gpus", "nvlink", "pcie", "host", "nics", "collectives"}) {
    if (description.contains(part)) add_figures(description[part], part, cluster.sources, missing);
  }
  return missing;
}

}  // namespace tandem::sim
