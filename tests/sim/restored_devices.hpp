// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/runtime/runtime.hpp"

namespace tandem::testing {

/// Gives other tests devices with data and without limits when it goes: all of them, since those
/// that a list leaves out stay as they are.
struct RestoredDevices {
  RestoredDevices() = default;
  RestoredDevices(const RestoredDevices&) = delete;
  RestoredDevices& operator=(const RestoredDevices&) = delete;
  ~RestoredDevices() {
    Runtime::instance().configure(parse_devices("cpu:128"));
    Runtime::instance().configure(parse_devices("cpu:4"));
  }
};

}  // namespace tandem::testing
