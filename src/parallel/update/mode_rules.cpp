// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/update/mode_rules.hpp"

#include "parallel/update/central_update.hpp"
#include "parallel/update/modes/classic.hpp"
#include "parallel/update/modes/ddp.hpp"
#include "parallel/update/modes/server.hpp"
#include "parallel/update/modes/sharded.hpp"

namespace tandem::parallel {

std::shared_ptr<ParameterUpdate> ModeRules::make_update(SharedParts) const {
  return std::make_shared<CentralUpdate>();
}

// The one place that tells the modes apart: a mode that is missing here is a warning of the
// compiler.
const ModeRules& rules_of(Mode mode) noexcept {
  static const modes::Classic classic;
  static const modes::Server server;
  static const modes::Sharded sharded;
  static const modes::Ddp ddp;
  switch (mode) {
    case Mode::classic:
      return classic;
    case Mode::server:
      return server;
    case Mode::sharded:
      return sharded;
    case Mode::ddp:
      return ddp;
  }
  return sharded;  // no value of the type comes here
}

}  // namespace tandem::parallel
