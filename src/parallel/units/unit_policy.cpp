// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/parallel/unit_policy.hpp"

#include <algorithm>

#include "tandem/core/check.hpp"
#include "tandem/nn/module.hpp"

#include "core/wildcard.hpp"

namespace tandem::parallel {
namespace {

std::size_t parameter_nbytes(nn::Module& module) {
  std::size_t nbytes = 0;
  for (const Tensor& x : module.parameters())
    nbytes += x.nbytes();
  return nbytes;
}

std::vector<nn::NamedModule> parts_with_parameters(nn::Module& module) {
  std::vector<nn::NamedModule> parts = module.children();
  std::erase_if(parts,
                [](const nn::NamedModule& part) { return part.module->parameters().empty(); });
  return parts;
}

std::vector<std::string> direct_parts(nn::Module& root) {
  std::string prefix;
  nn::Module* module = &root;
  std::vector<nn::NamedModule> parts = parts_with_parameters(*module);
  while (parts.size() == 1) {
    prefix += parts.front().name + ".";
    module = parts.front().module;
    parts = parts_with_parameters(*module);
  }
  std::vector<std::string> paths;
  for (const nn::NamedModule& part : parts)
    paths.push_back(prefix + part.name);
  return paths;
}

std::string list_of(const std::vector<nn::NamedModule>& modules) {
  constexpr std::size_t kMost = 10;
  std::string list;
  for (std::size_t i = 0; i < modules.size() && i < kMost; ++i)
    list += (i == 0 ? "'" : ", '") + modules[i].name + "' (" + modules[i].module->type_name() + ")";
  return modules.size() > kMost ? list + " and others" : list;
}

}  // namespace

UnitPolicy UnitPolicy::where(std::string name, Predicate predicate) {
  UnitPolicy policy;
  policy.name_ = std::move(name);
  policy.predicate_ = std::move(predicate);
  return policy;
}

UnitPolicy UnitPolicy::by_size(std::size_t nbytes) {
  return where("by_size", [nbytes](const std::string&, nn::Module& module) {
    const auto reaches = [nbytes](nn::Module& m) { return parameter_nbytes(m) >= nbytes; };
    return reaches(module) &&
           std::ranges::none_of(module.children(),
                                [&](const nn::NamedModule& part) { return reaches(*part.module); });
  });
}

UnitPolicy UnitPolicy::names(std::vector<std::string> patterns) {
  UnitPolicy policy = where("names", [patterns](const std::string& path, nn::Module&) {
    return std::ranges::any_of(patterns,
                               [&](const std::string& p) { return matches(p, path, '.'); });
  });
  policy.patterns_ = std::move(patterns);
  return policy;
}

std::vector<std::string> UnitPolicy::paths(nn::Module& root) const {
  if (predicate_ == nullptr) return direct_parts(root);
  std::vector<nn::NamedModule> modules = root.named_modules();
  std::erase_if(modules, [](const nn::NamedModule& m) { return m.name.empty(); });
  std::vector<std::string> paths;
  for (const nn::NamedModule& m : modules)
    if (predicate_(m.name, *m.module) && !m.module->parameters().empty()) paths.push_back(m.name);
  for (const std::string& pattern : patterns_)
    TANDEM_CHECK(
        std::ranges::any_of(paths, [&](const std::string& p) { return matches(pattern, p, '.'); }),
        "UnitPolicy::names: '",
        pattern,
        "' is no part of the module with parameters; its parts are ",
        list_of(modules));
  TANDEM_CHECK(!paths.empty(),
               "UnitPolicy::",
               name_,
               ": no part of the module with parameters is a unit; its parts are ",
               list_of(modules));
  return paths;
}

int unit_of(const std::string& parameter, const std::vector<std::string>& paths) {
  std::size_t best = paths.size(), length = 0;
  for (std::size_t u = 0; u < paths.size(); ++u) {
    if (paths[u].size() < length || !parameter.starts_with(paths[u] + ".")) continue;
    best = u;
    length = paths[u].size();
  }
  return static_cast<int>(best);
}

}  // namespace tandem::parallel
