// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "tandem/comm/communicator.hpp"
#include "tandem/world/world.hpp"

namespace tandem::cli {

/// The processes that a launcher has started of this program. They meet when this is made, and have
/// to be started by the same line.
class Launched {
 public:
  /// @throws Desync  their lines differ; the text has both. See also world::World.
  Launched();

  /// Null: this process is the only one.
  world::World* world() noexcept { return world_ ? &*world_ : nullptr; }
  int processes() const noexcept { return world_ ? world_->size() : 1; }
  /// Whether any of the processes says so. All of them ask.
  bool any(bool own);
  /// Whether this process prints and saves.
  bool is_main() const noexcept { return !world_ || world_->rank() == 0; }

 private:
  std::optional<world::World> world_;
  std::unique_ptr<comm::Communicator> comm_;  // of the processes; null until it is needed
};

}  // namespace tandem::cli
