// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/cuda/driver_turn.hpp"

namespace tandem::cuda {
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

}  // namespace tandem::cuda
