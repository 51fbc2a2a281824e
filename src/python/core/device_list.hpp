// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tandem/runtime/device.hpp"

namespace tandem::python {

/// What Python gives for devices: a list of names, or None.
using DeviceNames = std::optional<std::vector<std::string>>;

/// The devices of a list of names, in its order; the default ones for None.
///
/// @throws InvalidArgument  a name in it is not a device's
std::vector<Device> read_devices(const DeviceNames& names);

}  // namespace tandem::python
