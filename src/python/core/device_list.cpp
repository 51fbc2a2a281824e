// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "python/core/device_list.hpp"

#include <string>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "tandem/runtime/runtime.hpp"

#include "python/core/argument.hpp"

namespace tandem::python {

std::vector<Device> read_devices(nanobind::handle names) {
  if (names.is_none()) return default_devices();
  std::vector<Device> devices;
  for (const auto& name :
       as_argument<std::vector<std::string>>(names, "devices", "a list of names"))
    devices.push_back(parse_device(name));
  return devices;
}

}  // namespace tandem::python
