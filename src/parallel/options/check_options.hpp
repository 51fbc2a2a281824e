// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tandem/parallel/options.hpp"

namespace tandem::parallel {

/// Checks a wrapper's devices and options, and returns the devices.
///
/// @throws InvalidArgument  an option has an invalid value or contradicts another, a device is
///                          listed twice, the chunk policy is for other devices, or these devices
///                          cannot have the backend, or plans by the memory of each.
std::vector<Device> checked(std::vector<Device> devices, const DataParallelOptions& options);

}  // namespace tandem::parallel
