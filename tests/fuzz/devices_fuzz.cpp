// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Device lists, as flags and TANDEM_DEVICES have them, and sizes with a unit.

#include <string_view>

#include "tandem/core/error.hpp"
#include "tandem/runtime/device.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    for (const tandem::DeviceSpec& spec : tandem::parse_devices(text)) {
      if (tandem::parse_device(tandem::to_string(spec.device)) != spec.device) __builtin_trap();
    }
  } catch (const tandem::InvalidArgument&) {
  }
  try {
    tandem::format_nbytes(tandem::parse_nbytes(text));
  } catch (const tandem::InvalidArgument&) {
  }
  return 0;
}
