// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/runtime/device.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <ostream>
#include <utility>

#include "tandem/core/check.hpp"
#include "tandem/runtime/logical_device.hpp"
#include "tandem/runtime/runtime.hpp"

#include "runtime/gpu/gpu_backend.hpp"

namespace tandem {
namespace {

constexpr const char* kListForm =
    "expected a list like cpu:4, cpu:4@512MiB, cpu:8@shape-only, cpu:1@1GiB,cpu:2, cuda:0,cuda:1 "
    "or "
    "cuda:0x4@20GiB";
constexpr std::string_view kAtShapeOnly = "@shape-only";
constexpr std::string_view kShapeOnly = kAtShapeOnly.substr(1);

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
      gpu_backend().has_gpus(),
      "device '",
      whole,
      "': this build of tandem has no CUDA; use cpu devices. GPUs of PyTorch are there when a "
      "wrapper of a module asks for them: DataParallel(module, devices='",
      whole,
      "'), or in C++ libtorch::gpus()");
  return DeviceType::cuda;
}

/// What stands between two commas of a list.
struct ListEntry {
  DeviceType type;
  std::uint64_t count;  // of logical devices
  int gpu;              // -1 on the host
  bool numbered;        // has an xN
  std::optional<std::size_t> limit;
  bool has_data = true;
};

/// Parses what follows the device's name and an '@': "512MiB", "shape-only" or "512MiB@shape-only".
void parse_suffix(std::string_view suffix, ListEntry& entry) {
  entry.has_data = suffix != kShapeOnly && !suffix.ends_with(kAtShapeOnly);
  if (suffix == kShapeOnly) return;
  if (!entry.has_data) suffix.remove_suffix(kAtShapeOnly.size());
  entry.limit = parse_nbytes(suffix);
}

ListEntry parse_entry(std::string_view entry, std::string_view text) {
  const auto at = entry.find('@');
  const std::string_view name = entry.substr(0, at);
  const auto colon = name.find(':');
  ListEntry p{parse_type(name.substr(0, colon), text), 1, -1, false, std::nullopt, true};
  std::string_view digits =
      colon == std::string_view::npos ? std::string_view{} : name.substr(colon + 1);
  std::optional<std::uint64_t> count = 1;
  if (p.type == DeviceType::cuda) {
    const auto x = digits.find('x');
    p.numbered = x != std::string_view::npos;
    if (p.numbered) count = number(digits.substr(x + 1));
    const auto gpu = colon == std::string_view::npos ? 0 : number(digits.substr(0, x));
    TANDEM_CHECK(gpu && *gpu < kMaxDevices,
                 "devices '",
                 text,
                 "': '",
                 entry,
                 "' needs the index of a GPU; ",
                 kListForm);
    p.gpu = static_cast<int>(*gpu);
  } else if (colon != std::string_view::npos) {
    count = number(digits);
  }
  TANDEM_CHECK(count && *count > 0,
               "devices '",
               text,
               "': '",
               entry,
               "' needs a count of at least 1; ",
               kListForm);
  p.count = *count;
  if (at != std::string_view::npos) parse_suffix(entry.substr(at + 1), p);
  return p;
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
  TANDEM_CHECK(
      !text.ends_with(','), "devices '", text, "': the list ends with a comma; ", kListForm);
  std::vector<ListEntry> list;
  for (std::string_view rest = text;;) {
    const auto comma = rest.find(',');
    list.push_back(parse_entry(rest.substr(0, comma), text));
    if (comma == std::string_view::npos) break;
    rest = rest.substr(comma + 1);
  }
  const bool shared = std::ranges::any_of(list, &ListEntry::numbered);
  std::vector<DeviceSpec> devices;
  int cpus = 0, gpus = 0;
  for (const ListEntry& entry : list) {
    TANDEM_CHECK(entry.count <= kMaxDevices - devices.size(),
                 "devices '",
                 text,
                 "': a list may name at most ",
                 kMaxDevices,
                 " devices");
    for (std::uint64_t i = 0; i < entry.count; ++i) {
      const bool cuda = entry.type == DeviceType::cuda;
      const int index = !cuda ? cpus++ : shared ? gpus++ : entry.gpu;
      devices.push_back({{entry.type, index}, entry.limit, entry.gpu, entry.has_data});
    }
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
  TANDEM_CHECK(
      *n <= (std::uint64_t{1} << 62) >> shift, "size '", text, "' is more than a machine can hold");
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

Device get_default_device() noexcept {
  return Runtime::instance().default_device();
}

void set_default_device(Device device) {
  logical_device(device);  // refuses what is not there
  Runtime::instance().set_default_device(device);
}

}  // namespace tandem
