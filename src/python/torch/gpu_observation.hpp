// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

namespace tandem::python {

/// What observers are told of PyTorch on its GPUs, while Python calls something.
void bind_gpu_observation(nanobind::module_& m);

}  // namespace tandem::python
