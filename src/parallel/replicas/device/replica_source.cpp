// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replicas/device/replica_source.hpp"

#include <unordered_set>

#include "tandem/optim/arena.hpp"

#include "parallel/replicas/device/module_source.hpp"

namespace tandem::parallel {

ReplicaSources sources_of(const std::vector<nn::Module*>& modules) {
  ReplicaSources sources;
  for (nn::Module* module : modules)
    sources.push_back(std::make_shared<ModuleSource>(*module));
  return sources;
}

std::vector<optim::ArenaEntry> arena_entries(ReplicaSource& source, nn::TensorKind kind) {
  std::vector<optim::ArenaEntry> entries;
  std::unordered_set<const TensorImpl*> seen;
  source.visit_tensors([&](const std::string& name, Tensor& x, nn::TensorKind of) {
    if (of == kind && seen.insert(&x.impl()).second) entries.push_back({name, x});
  });
  return entries;
}

void assign_units(std::vector<optim::ArenaEntry>& entries, const std::vector<std::string>& units) {
  for (optim::ArenaEntry& entry : entries) {
    entry.unit = unit_of(entry.name, units);
    if (const auto before = optim::Arena::of(entry.tensor))
      entry.group = before->group_of(entry.tensor);
  }
}

}  // namespace tandem::parallel
