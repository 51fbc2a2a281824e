// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/data/data_loader.hpp"
#include "tandem/runtime/device.hpp"

#include "cli/data_form.hpp"
#include "cli/task_options.hpp"

namespace tandem::cli {

/// Random images and labels, or windows of a random text, on a device.
datasets::Batch random_batch(const TaskOptions& options, const DataForm& form, Device device);

}  // namespace tandem::cli
