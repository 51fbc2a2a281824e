// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <chrono>
#include <string>
#include <vector>

#include <ATen/Context.h>
#include <c10/core/Device.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <torch/csrc/Generator.h>

#include "tandem/libtorch/detail/torch_device.hpp"
#include "tandem/libtorch/devices.hpp"

#include "libtorch/device/backward_threads.hpp"
#include "libtorch/modules/recomputation.hpp"
#include "libtorch/wrapper/use_gpus.hpp"
#include "parallel/update/mode_table.hpp"
#include "python/core/error_classes.hpp"
#include "python/torch/data_parallel.hpp"
#include "python/torch/errors.hpp"
#include "python/torch/gpu_observation.hpp"
#include "python/torch/python_update.hpp"

namespace {

constexpr auto kPatienceAtExit = std::chrono::seconds(2);

void settle_at_exit() {
  const nanobind::gil_scoped_release release;
  tandem::libtorch::settle_backward_threads(tandem::libtorch::registered_devices(),
                                            kPatienceAtExit);
}

}  // namespace

NB_MODULE(_torch, m) {
  namespace nb = nanobind;
  nb::module_::import_("tandem._core");  // its classes are among the results here
  tandem::python::register_error_classes();
  tandem::python::register_errors();
  m.def("register_devices", &tandem::libtorch::register_devices, nb::arg("count"));
  m.def("registered_devices", &tandem::libtorch::registered_devices);
  m.def(
      "gpu_of",
      [](const std::string& device) {
        return static_cast<int>(
            tandem::libtorch::torch_device(tandem::parse_device(device)).index());
      },
      nb::arg("device"),
      "The GPU of a device of type cuda: 1 of 'cuda:0' among 'cuda:1x2'.");
  m.def("use_gpus",
        &tandem::libtorch::use_gpus,
        "PyTorch's GPUs become devices of type cuda. Not in a process with virtual devices.");
  m.def(
      "default_generator",
      [](int device) {
        const at::Generator& generator = at::globalContext().defaultGenerator(
            at::Device(at::kPrivateUse1, static_cast<c10::DeviceIndex>(device)));
        return nb::steal(THPGenerator_Wrap(generator));
      },
      nb::arg("device"),
      "A virtual device's torch.Generator.");
  m.def(
      "modes",
      [] {
        std::vector<std::string> names;
        for (const tandem::parallel::ModeRules& row : tandem::parallel::mode_table())
          if (!row.has_units()) names.emplace_back(row.name);
        return names;
      },
      "The modes of DataParallel that modules of PyTorch can have, by name.");
  using tandem::libtorch::ForwardPlace;
  nb::class_<ForwardPlace>(m, "ForwardPlace", "A place in a replica's forward.");
  m.def("forward_place",
        [] { return std::const_pointer_cast<ForwardPlace>(ForwardPlace::current()); });
  m.def(
      "recompute_from",
      [](const std::shared_ptr<ForwardPlace>& place) { tandem::libtorch::recompute_from(place); },
      nb::arg("place").none(),
      "From now on this thread of a backward computes from there again.");
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(settle_at_exit));
  tandem::python::bind_gpu_observation(m);
  tandem::python::bind_update(m);
  tandem::python::bind_data_parallel(m);
}
