// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "python/core/devices.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "tandem/runtime/runtime.hpp"

namespace tandem::python {
namespace nb = nanobind;
namespace {

using Names = std::vector<std::string>;

Names names_of(const std::vector<Device>& devices) {
  Names names;
  for (const Device device : devices)
    names.push_back(to_string(device));
  return names;
}

using Bytes = std::map<std::string, std::size_t>;

Bytes by_category(const std::array<std::size_t, kCategories>& bytes) {
  Bytes named;
  for (int c = 0; c < kCategories; ++c)
    if (bytes[static_cast<std::size_t>(c)] > 0)
      named[name(static_cast<Category>(c))] = bytes[static_cast<std::size_t>(c)];
  return named;
}

MemoryStats stats_of(const std::string& device) {
  return logical_device(parse_device(device)).memory_stats();
}

std::optional<std::size_t> limit_of(const std::string& device) {
  const std::size_t limit = logical_device(parse_device(device)).limit();
  return limit == SIZE_MAX ? std::nullopt : std::optional(limit);
}

}  // namespace

void bind_devices(nb::module_& m) {
  nb::class_<MemoryStats>(m, "MemoryStats", "What a device holds, in bytes as requested.")
      .def_ro("in_use", &MemoryStats::in_use)
      .def_ro("peak", &MemoryStats::peak, "The highest in_use since the last reset_peak.")
      .def_ro("allocations", &MemoryStats::allocations)
      .def_prop_ro("by_category", [](const MemoryStats& s) { return by_category(s.by_category); })
      .def_prop_ro("peak_by_category",
                   [](const MemoryStats& s) { return by_category(s.peak_by_category); });
  m.def(
      "configure_devices",
      [](const std::string& list) { return names_of(configure_devices(list)); },
      nb::arg("list"),
      "Makes the devices of a list, such as 'cpu:4@512MiB', the default, and returns their names.");
  m.def(
      "default_devices",
      [] { return names_of(default_devices()); },
      "Names of the default devices.");
  m.def(
      "memory_stats", &stats_of, nb::arg("device"), "What a device holds: memory_stats('cpu:1').");
  m.def(
      "reset_peak",
      [](const std::string& device) { logical_device(parse_device(device)).reset_peak(); },
      nb::arg("device"));
  m.def(
      "release_cached",
      [] {
        for (const Device device : default_devices())
          logical_device(device).release_cached();
      },
      "Returns the default devices' free blocks to the system.");
  m.def("limit", &limit_of, nb::arg("device"), "A device's limit in bytes; None: it has none.");
  m.def(
      "set_limit",
      [](const std::string& device, std::optional<std::size_t> nbytes) {
        logical_device(parse_device(device)).set_limit(nbytes.value_or(SIZE_MAX));
      },
      nb::arg("device"),
      nb::arg("nbytes").none());
}

}  // namespace tandem::python
