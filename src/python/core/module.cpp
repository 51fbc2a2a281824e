// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <nanobind/nanobind.h>

#include "python/core/buffer_log.hpp"
#include "python/core/devices.hpp"
#include "python/core/error_classes.hpp"
#include "python/core/planner.hpp"
#include "python/core/reports.hpp"
#include "python/core/tensor.hpp"

NB_MODULE(_core, m) {
  m.attr("version") = TANDEM_PYTHON_VERSION;
  tandem::python::register_error_classes();
  tandem::python::bind_devices(m);
  tandem::python::bind_tensor(m);
  tandem::python::bind_planner(m);
  tandem::python::bind_reports(m);
  tandem::python::bind_buffer_log(m);
}
