// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

namespace tandem::python {

/// Tensors of tandem, which other libraries share by DLPack.
void bind_tensor(nanobind::module_& m);

}  // namespace tandem::python
