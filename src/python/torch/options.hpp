// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include <nanobind/nanobind.h>

#include "tandem/libtorch/module_options.hpp"
#include "tandem/parallel/options.hpp"

#include "python/torch/python_module.hpp"

namespace tandem::python {

struct ReadOptions {
  parallel::DataParallelOptions parallel;
  libtorch::ModuleOptions<PythonModule> module;
  bool outputs_on_host = false;  ///< output_device is PyTorch's `cpu`
};

/// Options by the names that they have in tandem.DataParallel; those that are missing or None keep
/// their defaults.
///
/// @throws InvalidArgument  a name or a value is none of an option's.
ReadOptions read_options(const nanobind::dict& options);

}  // namespace tandem::python
