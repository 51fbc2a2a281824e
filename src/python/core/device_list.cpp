// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "python/core/device_list.hpp"

#include "tandem/runtime/runtime.hpp"

namespace tandem::python {

std::vector<Device> read_devices(const DeviceNames& names) {
  if (!names) return default_devices();
  std::vector<Device> devices;
  for (const std::string& name : *names)
    devices.push_back(parse_device(name));
  return devices;
}

}  // namespace tandem::python
