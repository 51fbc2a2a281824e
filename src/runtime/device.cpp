// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/runtime/device.hpp"

#include <array>
#include <charconv>
#include <cstdio>
#include <ostream>
#include <utility>

#include "tandem/config.hpp"
#include "tandem/core/check.hpp"
#include "tandem/runtime/logical_device.hpp"

namespace tandem {
namespace {

constexpr const char* kListForm = "expected a list like cpu:4, cpu:4@512MiB or cpu:1@1GiB,cpu:2";

/// A whole non-negative decimal number, or nothing.
std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return n;
}

DeviceType parse_type(std::string_view text, std::string_view whole) {
  if (text == "cpu") return DeviceType::cpu;
  TANDEM_CHECK(text == "cuda", "device '", whole, "': type '", text, "' is neither cpu nor cuda");
  TANDEM_CHECK(
      has_cuda, "device '", whole, "': this tandem was built without CUDA; use cpu devices");
  return DeviceType::cuda;
}

}  // namespace

const char* name(DeviceType type) noexcept {
  return type == DeviceType::cpu ? "cpu" : "cuda";
}

std::string to_string(Device device) {
  return std::string(name(device.type)) + ':' + std::to_string(device.index);
}

std::ostream& operator<<(std::ostream& s, Device device) {
  return s << to_string(device);
}

Device parse_device(std::string_view text) {
  const auto colon = text.find(':');
  const DeviceType type = parse_type(text.substr(0, colon), text);
  if (colon == std::string_view::npos) return {type, 0};
  const auto index = number(text.substr(colon + 1));
  TANDEM_CHECK(index, "device '", text, "': expected a form like cpu:1");
  TANDEM_CHECK(*index < kMaxDevices, "device '", text, "': the index must be below ", kMaxDevices);
  return {type, static_cast<int>(*index)};
}

std::vector<DeviceSpec> parse_devices(std::string_view text) {
  std::vector<DeviceSpec> devices;
  int next = 0;
  for (std::string_view rest = text; !rest.empty() || devices.empty();) {
    const auto comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
    TANDEM_CHECK(comma == std::string_view::npos || !rest.empty(),
                 "devices '",
                 text,
                 "': ends with a comma; ",
                 kListForm);
    const auto at = part.find('@');
    const std::string_view place = part.substr(0, at);
    const auto colon = place.find(':');
    parse_type(place.substr(0, colon), text);
    const auto count = colon == std::string_view::npos ? std::optional<std::uint64_t>(1)
                                                       : number(place.substr(colon + 1));
    TANDEM_CHECK(count && *count > 0,
                 "devices '",
                 text,
                 "': '",
                 part,
                 "' needs a count of at least 1; ",
                 kListForm);
    TANDEM_CHECK(*count <= kMaxDevices - devices.size(),
                 "devices '",
                 text,
                 "': at most ",
                 kMaxDevices,
                 " devices are possible");
    const auto limit = at == std::string_view::npos
                           ? std::nullopt
                           : std::optional(parse_nbytes(part.substr(at + 1)));
    for (std::uint64_t i = 0; i < *count; ++i)
      devices.push_back({{DeviceType::cpu, next++}, limit});
    if (rest.empty()) break;
  }
  return devices;
}

std::size_t parse_nbytes(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, int>, 4> kUnits{
      {{"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40}}};
  std::string_view digits = text;
  int shift = 0;
  for (const auto& [unit, bits] : kUnits) {
    if (digits.ends_with(unit)) {
      digits.remove_suffix(unit.size());
      shift = bits;
      break;
    }
  }
  const auto n = number(digits);
  TANDEM_CHECK(n && *n > 0,
               "size '",
               text,
               "': expected a positive number of bytes, KiB, MiB, GiB or TiB, like 512MiB");
  TANDEM_CHECK(*n <= (std::uint64_t{1} << 62) >> shift,
               "size '",
               text,
               "': is more than a machine can hold");
  return static_cast<std::size_t>(*n << shift);
}

std::string format_nbytes(std::size_t nbytes) {
  constexpr std::array kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(nbytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
  return text.data();
}

}  // namespace tandem
