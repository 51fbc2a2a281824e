// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <memory>

#include "tandem/world/world.hpp"

namespace tandem::testing {

/// The world of a test program that a launcher has started with TANDEM_TEST_WORLD=1: its groups of
/// ranks are spread over the processes, each of which runs the same tests in the same order. Null:
/// there is one process.
inline world::World* test_world() {
  static const auto world = std::getenv("TANDEM_TEST_WORLD") == nullptr
                                ? nullptr
                                : std::make_unique<world::World>(world::World::from_environment());
  return world.get();
}

}  // namespace tandem::testing
