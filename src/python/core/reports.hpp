// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

namespace tandem::python {

/// Explanations of a step, of its memory, and comparisons of modes, as text, JSON and pictures.
void bind_reports(nanobind::module_& m);

}  // namespace tandem::python
