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

/// The name of a logical device: its type and index. `cpu:1` is the second virtual device of the
/// host. `cuda:1` is the second GPU, or the second logical device if a device list divides GPUs.
///
/// A value type. Naming a device creates nothing; its allocator and worker start on first use.
struct Device {
  DeviceType type = DeviceType::cpu;
  int index = 0;

  friend auto operator<=>(const Device&, const Device&) = default;
};

/// The largest number of logical devices of one type. PyTorch ends at 120 GPUs
/// (C10_COMPILE_TIME_MAX_GPUS).
inline constexpr int kMaxDevices = 128;

/// "cpu:1".
std::string to_string(Device device);
std::ostream& operator<<(std::ostream& s, Device device);
/// Parses the name of one device: "cpu", "cpu:1", "cuda:0".
///
/// @throws InvalidArgument  the text has another form, the index is above 127, or the text names a
///                          CUDA device and the build has no CUDA.
Device parse_device(std::string_view text);

/// The device for tensors and modules that are made without naming one: cpu:0 unless set.
///
/// Thread-safe. There is one for the whole process, as with PyTorch's function of this name.
Device get_default_device() noexcept;
/// @throws InvalidArgument  there is no such device.
void set_default_device(Device device);

/// A logical device in a device list, with its byte limit.
struct DeviceSpec {
  Device device;
  std::optional<std::size_t> limit = std::nullopt;  ///< bytes; none: only the machine's limit
  int gpu = -1;                                     ///< of a CUDA device, its GPU; else -1
  bool has_data = true;  ///< false: shape-only, it accounts for memory and computes nothing

  friend bool operator==(const DeviceSpec&, const DeviceSpec&) = default;
};

/// Parses a device list: parts joined by commas ("cpu:1@1GiB,cpu:2"). `@SIZE` is the byte limit of
/// each device of its part ("cpu:4@512MiB"). `@shape-only` makes devices of the host that account
/// for memory and compute nothing ("cpu:8@shape-only", "cpu:8@16GiB@shape-only"); all of a list are
/// so, or none is.
///
/// In a list, `cpu:N` means N virtual devices, `cuda:i` means GPU i, and `cuda:ixN` means N logical
/// devices on GPU i. If any part has an xN, the list's CUDA devices are numbered from cuda:0 on.
///
/// @throws InvalidArgument  the list is malformed; the text quotes it and says what was expected.
std::vector<DeviceSpec> parse_devices(std::string_view text);

/// Parses a number of bytes: "4096", "64KiB", "512MiB", "20GiB", "1TiB" (powers of 1,024).
///
/// @throws InvalidArgument  the text has another form, or the number is zero or above 2^62.
std::size_t parse_nbytes(std::string_view text);

/// Formats a number of bytes: "40.0 MiB".
std::string format_nbytes(std::size_t nbytes);

}  // namespace tandem
