// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "tandem/profile/step_record.hpp"

namespace tandem::sim {

/// Checks that the last of some devices can stand for more GPUs.
///
/// @throws InvalidArgument  what the device does would depend on how many it stands for.
void check_alike(const profile::StepRecord& record, std::span<const Device> devices, int gpus);

}  // namespace tandem::sim
