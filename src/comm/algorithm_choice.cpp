// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "comm/algorithm_choice.hpp"

#include "tandem/core/error.hpp"

#include "comm/algorithms/list.hpp"

namespace tandem::comm {

AlgorithmChoice::AlgorithmChoice(const GroupOptions& options, int ranks)
    : ranks_(ranks), group_(options.group) {
  const Algorithm& own = algorithm(options.algorithm);
  if (&own == &direct()) return;
  const std::string refusal = own.refusal({.ranks = ranks_, .group = group_});
  if (!refusal.empty()) throw InvalidArgument("make_group: " + refusal);
  own_ = &own;
}

const Algorithm* AlgorithmChoice::choose(const Collective& c) const {
  if (c.algorithm == nullptr) return own_ != nullptr && own_->has(c.kind) ? own_ : nullptr;
  if (c.algorithm == &direct()) return nullptr;
  const std::string refusal =
      c.algorithm->refusal({.kind = c.kind, .ranks = ranks_, .group = group_});
  if (!refusal.empty()) throw InvalidArgument(refusal);
  return c.algorithm;
}

}  // namespace tandem::comm
