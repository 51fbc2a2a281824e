// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tandem {

enum class DeviceType : std::uint8_t { cpu, cuda };

const char* name(DeviceType type) noexcept;

/// A logical device by type and index: `cpu:1` is the second virtual device of the host.
///
/// A value. Naming a device creates nothing; its allocator and worker start on first use.
struct Device {
  DeviceType type = DeviceType::cpu;
  int index = 0;

  friend auto operator<=>(const Device&, const Device&) = default;
};

/// "cpu:1".
std::string to_string(Device device);
std::ostream& operator<<(std::ostream& s, Device device);
/// One device: "cpu", "cpu:1", "cuda:0".
///
/// @throws InvalidArgument  not of that form, index above 63, or a CUDA device in a build without
/// CUDA.
Device parse_device(std::string_view text);

/// A logical device of a list, with its byte limit.
struct DeviceSpec {
  Device device;
  std::optional<std::size_t> limit;  ///< bytes; none means the machine's own limit

  friend bool operator==(const DeviceSpec&, const DeviceSpec&) = default;
};

/// A device list: in a list `cpu:N` is a count of virtual devices, `@SIZE` the byte limit of each
/// ("cpu:4@512MiB"); parts are joined by commas ("cpu:1@1GiB,cpu:2").
///
/// @throws InvalidArgument  the text and what was expected.
std::vector<DeviceSpec> parse_devices(std::string_view text);

/// Bytes of "4096", "64KiB", "512MiB", "20GiB" (powers of 1,024).
///
/// @throws InvalidArgument  not of that form, zero, or above 2^62.
std::size_t parse_nbytes(std::string_view text);

/// "40.0 MiB".
std::string format_nbytes(std::size_t nbytes);

}  // namespace tandem
