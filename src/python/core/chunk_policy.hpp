// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include "tandem/parallel/chunks.hpp"

namespace tandem::python {

/// How rows are divided, as Python says it: a name, a list of sizes (ints) or of weights (floats),
/// or a StepModel, by which they are planned.
///
/// @throws InvalidArgument  it is none of these.
parallel::ChunkPolicy read_chunks(nanobind::handle value);

}  // namespace tandem::python
