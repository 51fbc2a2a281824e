// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "tandem/parallel/options.hpp"

#include "cli/data_form.hpp"
#include "cli/task_options.hpp"

namespace tandem::cli {

/// Refuses a size that this machine's memory cannot hold, before anything is allocated. Otherwise
/// the system may end the program later, or another program in its place.
///
/// @param least  bytes that are needed at least; a double, since the product may be of any size.
/// @throws Error  with both figures.
void check_fits(const std::string& what, double least);

/// The same for a model with its gradients, moments, replicas, and a batch.
void check_model_fits(const TaskOptions& options,
                      const DataForm& form,
                      const parallel::DataParallelOptions& parallel);

}  // namespace tandem::cli
