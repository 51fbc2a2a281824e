// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "tandem/explain/explanation.hpp"

namespace tandem::parallel {

/// Who does the work.
enum class Actor : std::uint8_t { replicas, caller, vote };

/// Identifies a step of an explanation: an actor's work in a phase, or the traffic of a category in
/// a phase.
struct StepKey {
  Phase phase = Phase::none;
  Actor actor = Actor::replicas;
  std::optional<Category> traffic = std::nullopt;

  friend auto operator<=>(const StepKey&, const StepKey&) = default;
};

/// "cpu:0", "cpu:0 and cpu:2", "cpu:1..3".
std::string list(const std::set<Device>& devices);
/// "from cpu:0 to cpu:1..3, 1.2 MiB to each".
std::string describe_links(const std::vector<LinkShare>& links);

/// ", by NCCL"; nothing where no bytes went between GPUs.
std::string carried_by(const std::set<std::string>& carriers);

/// Gives the step its title and sentence.
void put_into_words(ExplainedStep& step, const StepKey& key);

}  // namespace tandem::parallel
