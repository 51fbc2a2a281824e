// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

namespace tandem::python {

/// Devices by their names, their limits, and what they hold.
void bind_devices(nanobind::module_& m);

}  // namespace tandem::python
