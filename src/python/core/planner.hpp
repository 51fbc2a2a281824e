// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

namespace tandem::python {

/// How rows are divided among devices, and what steps of any size need.
void bind_planner(nanobind::module_& m);

}  // namespace tandem::python
