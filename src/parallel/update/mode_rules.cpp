// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/update/mode_rules.hpp"

#include "parallel/update/central_update.hpp"
#include "parallel/update/modes/classic.hpp"
#include "parallel/update/modes/ddp.hpp"
#include "parallel/update/modes/fully_sharded.hpp"
#include "parallel/update/modes/server.hpp"
#include "parallel/update/modes/sharded.hpp"
#include "parallel/update/modes/sharded_gradients.hpp"

namespace tandem::parallel {
namespace {

template <class Rules>
const ModeRules& only() noexcept {
  static const Rules rules;
  return rules;
}

}  // namespace

std::shared_ptr<ParameterUpdate> ModeRules::make_update(SharedParts) const {
  return std::make_shared<CentralUpdate>();
}

// The one place that tells the modes apart: a mode that is missing here is a warning of the
// compiler.
const ModeRules& rules_of(Mode mode) noexcept {
  switch (mode) {
    case Mode::classic:
      return only<modes::Classic>();
    case Mode::server:
      return only<modes::Server>();
    case Mode::sharded:
      return only<modes::Sharded>();
    case Mode::sharded_gradients:
      return only<modes::ShardedGradients>();
    case Mode::fully_sharded:
      return only<modes::FullySharded>();
    case Mode::ddp:
      return only<modes::Ddp>();
  }
  return only<modes::Sharded>();  // no value of the type comes here
}

}  // namespace tandem::parallel
