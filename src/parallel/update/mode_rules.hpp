// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "tandem/parallel/options.hpp"

#include "parallel/reduce/reduction.hpp"
#include "parallel/update/update_sharing.hpp"

namespace tandem::parallel {

/// What differs between the modes of DataParallel. Each mode is a class in modes/.
class ModeRules {
 public:
  virtual ~ModeRules() = default;

  /// The name in options and tables: "sharded".
  virtual const char* name() const noexcept = 0;
  /// Where the replicas' gradients are added up, and when.
  virtual Reduction reduction() const noexcept = 0;
  /// When device 0's parameters and buffers go to the replicas.
  enum class Replication : std::uint8_t {
    when_changed,   ///< while the forward runs, which waits for what it uses
    every_forward,  ///< everything, before the forward, which runs on new threads
  };
  virtual Replication replication() const noexcept { return Replication::when_changed; }
  /// What every device has a share of, and nobody has all of but while work uses it. Where that are
  /// the values, device 0 sends none.
  enum class Sharded : std::uint8_t { nothing, gradients, values_and_gradients };
  virtual Sharded sharded() const noexcept { return Sharded::nothing; }
  /// Makes the object that decides which devices update the parameters. @return not null
  virtual std::shared_ptr<ParameterUpdate> make_update(SharedParts parts) const;
};

/// The rules of a mode. They live as long as the program.
const ModeRules& rules_of(Mode mode) noexcept;

}  // namespace tandem::parallel
