// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

namespace tandem::python {

/// What tandem itself holds on GPUs, for reports of PyTorch's allocator, which knows blocks alone.
void bind_buffer_log(nanobind::module_& m);

}  // namespace tandem::python
