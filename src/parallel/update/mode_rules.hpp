// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tandem/parallel/mode.hpp"

#include "parallel/reduce/reduction.hpp"

namespace tandem::parallel {

class ParameterUpdate;
struct SharedParts;

/// What differs between the modes of DataParallel.
struct ModeRules {
  /// When device 0's parameters and buffers go to the replicas.
  enum class Replication : std::uint8_t {
    when_changed,   ///< while the forward runs, which waits for what it uses
    every_forward,  ///< everything, before the forward
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
  ModeWords words;

  /// Whether parameters are in units, which are freed one by one.
  constexpr bool has_units() const noexcept { return sharded != Sharded::nothing; }
  /// Whether a unit's values are gathered where work uses them.
  constexpr bool gathers_values() const noexcept {
    return sharded == Sharded::values_and_gradients;
  }
  /// Whether each forward is PyTorch's, from the broadcast on.
  constexpr bool sends_all() const noexcept { return replication == Replication::every_forward; }
  /// Whether all devices do the same, so that device 0 has no work of its own.
  constexpr bool are_devices_alike() const noexcept { return reduction.to == Reduction::To::all; }
};

/// The rules of a mode. They live as long as the program.
const ModeRules& rules_of(Mode mode) noexcept;

/// The modes of which something holds, as a sentence lists them: "server, sharded and ddp".
///
/// @param shown  what a mode is called there.
std::string list_modes(bool (ModeRules::*holds)() const noexcept,
                       const char* (*shown)(const ModeRules& row));
/// The same by name:
/// "modes sharded_gradients and fully_sharded".
std::string modes_that(bool (ModeRules::*holds)() const noexcept);

}  // namespace tandem::parallel
