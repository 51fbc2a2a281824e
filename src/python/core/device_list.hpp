// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <nanobind/nanobind.h>

#include "tandem/runtime/device.hpp"

namespace tandem::python {

/// The devices of a list of names, in its order; the default ones for None.
///
/// @throws InvalidArgument  it is no such list, or a name in it is no device's
std::vector<Device> read_devices(nanobind::handle names);

}  // namespace tandem::python
