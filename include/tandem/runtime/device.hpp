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

/// A logical device by type and index: `cpu:1` is the second virtual device of the host, `cuda:1`
/// the second GPU, or the second of the logical devices that a device list made of GPUs.
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

/// Where tensors and modules are made that name no device: cpu:0 unless set.
///
/// Thread-safe; one for the process, as PyTorch's function of this name.
Device get_default_device() noexcept;
/// @throws InvalidArgument  there is no such device.
void set_default_device(Device device);

/// A logical device of a list, with its byte limit.
struct DeviceSpec {
  Device device;
  std::optional<std::size_t> limit = std::nullopt;  ///< bytes; none: the machine's own limit
  int gpu = -1;                                     ///< where it is a GPU's: the GPU

  friend bool operator==(const DeviceSpec&, const DeviceSpec&) = default;
};

/// A device list: parts joined by commas ("cpu:1@1GiB,cpu:2"), `@SIZE` the byte limit of each
/// device of a part ("cpu:4@512MiB").
///
/// In a list `cpu:N` is a count of virtual devices, `cuda:i` is GPU i, and `cuda:ixN` N logical
/// devices of GPU i; where a part has an xN, the list's CUDA devices are numbered from cuda:0 on.
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
