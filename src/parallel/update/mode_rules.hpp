// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "tandem/parallel/mode.hpp"

#include "parallel/reduce/reduction.hpp"
#include "parallel/update/update_sharing.hpp"

namespace tandem::parallel {

/// What differs between the modes of DataParallel.
struct ModeRules {
  /// When device 0's parameters and buffers go to the replicas.
  enum class Replication : std::uint8_t {
    when_changed,   ///< while the forward runs, which waits for what it uses
    every_forward,  ///< everything, before the forward, which runs on new threads
  };
  /// What is sharded: the rest is gathered while work uses it. Where values are, device 0 sends
  /// none.
  enum class Sharded : std::uint8_t { nothing, gradients, values_and_gradients };

  Mode mode;
  const char* name;     ///< in options and tables
  Reduction reduction;  ///< where the replicas' gradients are added up, and when
  Replication replication;
  Sharded sharded;
  /// Makes the object that decides which devices update the parameters. It returns no null.
  std::shared_ptr<ParameterUpdate> (*make_update)(SharedParts parts);
};

/// The rules of a mode. They live as long as the program.
const ModeRules& rules_of(Mode mode) noexcept;

}  // namespace tandem::parallel
