// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "tandem/parallel/options.hpp"

#include "cli/data_form.hpp"
#include "cli/task_options.hpp"

namespace tandem::cli {

/// Refuses a size that this machine's memory cannot hold, before anything of it is made: what is
/// made bit by bit ends by the hand of the system, which may take other programs first.
///
/// @param least  bytes of the host, at least; a double, since the product may be of any size.
/// @throws Error  with both figures.
void check_fits(const std::string& what, double least);

/// The same for a model with its gradients, moments, replicas, and a batch.
void check_model_fits(const TaskOptions& options,
                      const DataForm& form,
                      const parallel::DataParallelOptions& parallel);

}  // namespace tandem::cli
