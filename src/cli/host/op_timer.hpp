// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tandem/runtime/device.hpp"
#include "tandem/sim/host_description.hpp"

namespace tandem::cli {

/// Times each op of training steps of a convolutional network and of a transformer, forward,
/// backward and update, while all devices do the same.
///
/// @return the ops of one step of one device, each with the least time of several steps
std::vector<sim::MeasuredOp> time_ops(const std::vector<Device>& devices);

}  // namespace tandem::cli
