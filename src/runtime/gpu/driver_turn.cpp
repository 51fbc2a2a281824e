// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/gpu/driver_turn.hpp"

namespace tandem {
namespace {

struct Turns {
  std::recursive_mutex mutex;
};

/// Lives until the process ends: destructors of other static objects free memory.
Turns& turns() {
  static Turns& turns = *new Turns;
  return turns;
}

}  // namespace

DriverTurn::DriverTurn() : lock_(turns().mutex) {}

}  // namespace tandem
