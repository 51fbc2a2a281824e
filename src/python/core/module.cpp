// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <nanobind/nanobind.h>

#include "python/core/devices.hpp"
#include "python/core/error_classes.hpp"

NB_MODULE(_core, m) {
  tandem::python::register_error_classes();
  tandem::python::bind_devices(m);
}
