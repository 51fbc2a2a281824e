// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "python/torch/python_update.hpp"

#include <string>

#include <nanobind/stl/string.h>

#include "python/torch/python_optimizer.hpp"

namespace tandem::python {
namespace nb = nanobind;
namespace {

/// f(update, the optimizer's view), without the interpreter's lock.
template <class F>
auto call(F f) {
  return [f](PythonUpdate& update, nb::handle optimizer) {
    PythonOptimizer view(optimizer, update.rule());
    const nb::gil_scoped_release release;
    return f(update, view);
  };
}

}  // namespace

void bind_update(nb::module_& m) {
  nb::class_<PythonUpdate>(m, "SharedUpdate", "The update of a tandem.Optimizer.")
      .def(
          "__init__",
          [](PythonUpdate* self, const std::string& kind) {
            new (self) PythonUpdate(OptimizerRule::of(kind));
          },
          nb::arg("kind"))
      .def("is_attached",
           call([](PythonUpdate& update, auto& view) { return update.is_attached(view); }),
           nb::arg("optimizer"),
           "Whether a wrapper that lives has updated by it.")
      .def("step",
           call([](PythonUpdate& update, auto& view) { update.step(view); }),
           nb::arg("optimizer"),
           "Updates with the gradients that the parameters have.")
      .def("store",
           call([](PythonUpdate& update, auto& view) { update.store(view); }),
           nb::arg("optimizer"),
           "Copies the devices' state to the optimizer.")
      .def("restore",
           call([](PythonUpdate& update, auto& view) { update.restore(view); }),
           nb::arg("optimizer"),
           "Copies the optimizer's state to the devices.");
}

}  // namespace tandem::python
