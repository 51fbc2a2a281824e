// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/choices/optimizer_choice.hpp"

#include <algorithm>
#include <array>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "tandem/core/check.hpp"
#include "tandem/optim/adam.hpp"
#include "tandem/optim/sgd.hpp"

#include "cli/subject.hpp"
#include "cli/validators.hpp"

namespace tandem::cli {
namespace {

std::unique_ptr<optim::Optimizer> make_adamw(nn::Module& module, double lr, double eps) {
  return std::make_unique<optim::AdamW>(module.named_parameters(),
                                        optim::AdamWOptions{.lr = lr, .eps = eps});
}

std::unique_ptr<optim::Optimizer> make_sgd(nn::Module& module, double lr, double /*eps*/) {
  return std::make_unique<optim::SGD>(module.named_parameters(),
                                      optim::SGDOptions{.lr = lr, .momentum = 0.9});
}

struct OptimizerEntry {
  const char* name;
  const char* summary;
  double lr;
  int states;  // tensors for each parameter
  std::unique_ptr<optim::Optimizer> (*make)(nn::Module& module, double lr, double eps);
};
/// All optimizers.
constexpr std::array kOptimizers{
    OptimizerEntry{"adamw", "adamw", 1e-3, 2, make_adamw},
    OptimizerEntry{"sgd", "sgd with momentum 0.9", 0.05, 1, make_sgd},
};

const OptimizerEntry& entry_of(const std::string& name) {
  const auto at = std::ranges::find(kOptimizers, name, &OptimizerEntry::name);
  TANDEM_CHECK(at != kOptimizers.end(), "there is no optimizer '", name, "'");
  return *at;
}

}  // namespace

std::vector<std::string> optimizer_names() {
  std::vector<std::string> names;
  for (const OptimizerEntry& entry : kOptimizers)
    names.emplace_back(entry.name);
  return names;
}

void OptimizerChoice::add_flags(CLI::App& app) {
  begin_subject(app, Subject::optimizer);
  std::vector<std::string> summaries, rates;
  for (const OptimizerEntry& entry : kOptimizers) {
    summaries.emplace_back(entry.summary);
    rates.push_back(fmt::format("{} for {}", entry.lr, entry.name));
  }
  app.add_option("--optimizer", name, fmt::format("{}", fmt::join(summaries, ", or ")))
      ->check(CLI::IsMember(optimizer_names()))
      ->capture_default_str();
  app.add_option("--lr", lr, fmt::format("learning rate (default {})", fmt::join(rates, ", ")))
      ->check(above_zero());
}

int OptimizerChoice::states() const {
  return entry_of(name).states;
}

std::unique_ptr<optim::Optimizer> OptimizerChoice::make(nn::Module& module, double adam_eps) const {
  const OptimizerEntry& entry = entry_of(name);
  return entry.make(module, lr.value_or(entry.lr), adam_eps);
}

}  // namespace tandem::cli
