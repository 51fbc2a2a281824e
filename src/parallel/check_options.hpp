// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tandem/parallel/options.hpp"

namespace tandem::parallel {

/// The devices of a wrapper, after a look at what they and the options ask for.
///
/// @throws InvalidArgument  an option has a value that it cannot have, or contradicts another; a
///                          device is listed twice; the chunk policy is for other devices.
std::vector<Device> checked(std::vector<Device> devices, const DataParallelOptions& options);

}  // namespace tandem::parallel
