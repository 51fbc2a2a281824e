// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "python/core/reports.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <nlohmann/json.hpp>

#include "tandem/core/check.hpp"
#include "tandem/core/percentile.hpp"
#include "tandem/profile/trace.hpp"
#include "tandem/runtime/runtime.hpp"

#include "report/comparison.hpp"
#include "report/memory.hpp"
#include "report/page.hpp"
#include "report/recording.hpp"

namespace tandem::python {
namespace nb = nanobind;
namespace {

using report::Comparison;
using report::Recording;

/// A function of Python without arguments, whose result nobody looks at.
using Step = nb::typed<nb::callable, nb::object()>;

constexpr int kIndent = 2;  // of JSON

/// The GPUs that the process uses, or else the default devices.
std::vector<Device> recorded_devices() {
  std::vector<Device> gpus;
  for (const LogicalDevice* device : Runtime::instance().made(DeviceType::cuda))
    gpus.push_back(device->device());
  return gpus.empty() ? default_devices() : gpus;
}

/// What these devices do while `step` is called.
Recording record(const Step& step, std::int64_t steps) {
  return report::record(recorded_devices(), steps, [&] {
    for (std::int64_t i = 0; i < steps; ++i)
      step();
  });
}

/// The value whose name it is; `other` for a name that is none's.
template <class Enum>
Enum named(const std::string& text, int count, Enum other) {
  for (int i = 0; i < count; ++i)
    if (text == name(static_cast<Enum>(i))) return static_cast<Enum>(i);
  return other;
}

/// What PyTorch's allocator has told of a GPU. Bytes without a category of tandem's are
/// activations, as all that PyTorch allocates on virtual devices outside of a wrapper is.
profile::DeviceMemory read_memory(const nlohmann::json& told) {
  const auto category = [](const std::string& text) {
    return named(text, kCategories, Category::activation);
  };
  const auto phase = [](const std::string& text) { return named(text, kPhases, Phase::none); };
  profile::DeviceMemory m{.device =
                              parse_devices(told.at("name").get<std::string>()).front().device};
  m.peak = told.at("peak_bytes");
  m.peak_at = std::chrono::microseconds(told.at("peak_us").get<std::int64_t>());
  m.peak_phase = phase(told.at("peak_phase"));
  for (const auto& h : told.at("held"))
    m.at_peak.push_back(
        {category(h.at("category")), phase(h.at("phase")), h.at("module"), h.at("bytes")});
  for (const auto& at : told.at("line")) {
    profile::MemoryMoment& moment = m.timeline.emplace_back();
    moment.at = std::chrono::microseconds(at.at("us").get<std::int64_t>());
    for (const auto& [what, bytes] : at.at("by_category").items()) {
      moment.by_category[static_cast<std::size_t>(category(what))] += bytes.get<std::size_t>();
      moment.in_use += bytes.get<std::size_t>();
    }
  }
  m.in_use = m.timeline.empty() ? 0 : m.timeline.back().in_use;
  return m;
}

/// Puts what PyTorch's allocator has told of GPUs in the place of what tandem itself has there.
void set_memory(Recording& recording, const std::string& told) {
  profile::MemoryProfile memory;
  for (const auto& device : nlohmann::json::parse(told))
    memory.devices.push_back(read_memory(device));
  for (const profile::DeviceMemory& m : memory.devices)
    if (!m.timeline.empty()) memory.duration = std::max(memory.duration, m.timeline.back().at);
  recording.memory = std::move(memory);
}

/// tandem.explain's result.
struct StepExplanation {
  Recording recording;

  std::string text() const { return recording.time.text(); }
  std::string json() const { return recording.time.json(); }
  std::string html() const { return report::time_page(recording); }
  std::string in_notebook() const { return report::embedded_time_page(recording); }
  std::string trace() const { return profile::trace_json(recording.record); }
};

/// tandem.memory's result.
struct MemoryExplanation {
  Recording recording;

  std::string text() const {
    std::vector<report::MemoryNote> notes;
    for (const profile::DeviceMemory& m : recording.memory.devices)
      notes.push_back({report::rows_of(recording, m.device)});
    if (std::ranges::all_of(notes, [](const report::MemoryNote& note) { return note.rows == 0; }))
      notes.clear();  // nobody has told how the batch was cut
    return report::text(recording.memory, notes, {});
  }
  std::string json() const { return report::to_json(recording.memory).dump(kIndent); }
  std::string html() const { return report::memory_page(recording); }
  std::string in_notebook() const { return report::embedded_memory_page(recording); }
};

/// The devices of a recording, with figures of as many steps as the comparison has.
std::vector<report::DeviceFigures> figures_of(const Recording& recording, std::int64_t steps) {
  std::vector<report::DeviceFigures> figures;
  const auto share = [&](std::size_t nbytes) {
    return nbytes * static_cast<std::size_t>(steps) / static_cast<std::size_t>(recording.steps);
  };
  for (const profile::DeviceMemory& m : recording.memory.devices) {
    report::DeviceFigures& d = figures.emplace_back();
    d.device = m.device;
    d.rows = report::rows_of(recording, m.device);
    d.peak_bytes = m.peak;
    for (const auto& [link, traffic] : recording.time.links) {
      if (link.source == m.device) d.bytes_sent += share(traffic.nbytes);
      if (link.destination == m.device) d.bytes_received += share(traffic.nbytes);
    }
  }
  return figures;
}

void add_mode(Comparison& comparison,
              const std::string& name,
              const std::vector<double>& step_ms,
              const std::vector<double>& losses,
              double difference,
              const std::string& worst_tensor,
              const std::vector<std::int64_t>& rows,
              const Recording& recording) {
  report::Mode& mode = comparison.modes.emplace_back();
  mode.mode = name;
  if (const auto known = parallel::parse_mode(name)) mode.words = parallel::words_of(*known);
  mode.p50 = percentile(step_ms, 0.5);
  mode.p90 = percentile(step_ms, 0.9);
  mode.losses = losses;
  mode.difference = {difference, worst_tensor};
  mode.devices = figures_of(recording, comparison.steps);
  for (std::size_t i = 0; i < rows.size() && i < mode.devices.size(); ++i)
    mode.devices[i].rows = rows[i];
  mode.recording = recording;
}

void add_peer(Comparison& comparison,
              const std::string& name,
              const std::vector<double>& step_ms,
              double difference,
              const std::string& worst_tensor) {
  comparison.peers.push_back(
      {name, percentile(step_ms, 0.5), percentile(step_ms, 0.9), {difference, worst_tensor}});
}

Comparison make_comparison(const std::string& model,
                           const std::string& optimizer,
                           const std::string& dtype,
                           std::int64_t batch,
                           std::int64_t steps,
                           double tolerance) {
  Comparison comparison;
  comparison.model = model;
  comparison.data = "one batch";
  comparison.optimizer = optimizer;
  comparison.dtype = dtype;
  comparison.batch = batch;
  comparison.steps = steps;
  comparison.tolerance = tolerance;
  return comparison;
}

void bind_comparison(nb::module_& m) {
  nb::class_<Comparison>(m, "Comparison", "How a model trains in several modes.")
      .def(nb::new_(&make_comparison),
           nb::arg("model"),
           nb::arg("optimizer"),
           nb::arg("dtype"),
           nb::arg("batch"),
           nb::arg("steps"),
           nb::arg("tolerance"))
      .def("add_mode",
           &add_mode,
           nb::arg("name"),
           nb::arg("step_ms"),
           nb::arg("losses"),
           nb::arg("difference"),
           nb::arg("worst_tensor"),
           nb::arg("rows"),
           nb::arg("recording"))
      .def("add_peer",
           &add_peer,
           nb::arg("name"),
           nb::arg("step_ms"),
           nb::arg("difference"),
           nb::arg("worst_tensor"))
      .def(
          "text",
          [](const Comparison& c, bool details) { return report::text(c, details); },
          nb::arg("details") = false,
          "A table of the modes; with details also memory, time and links of each.")
      .def(
          "json",
          [](const Comparison& c) { return report::to_json(c).dump(kIndent); },
          "One JSON object, with a schema_version.")
      .def("html", &report::page, "A page that needs nothing else, for a file.")
      .def("_repr_html_", &report::embedded_page)
      .def("__str__", [](const Comparison& c) { return report::text(c, false); });
}

template <class Explanation>
nb::class_<Explanation> bind_explanation(nb::module_& m, const char* name, const char* doc) {
  return nb::class_<Explanation>(m, name, doc)
      .def("text", &Explanation::text)
      .def("json", &Explanation::json, "One JSON object, with a schema_version.")
      .def("html", &Explanation::html, "A page that needs nothing else, for a file.")
      .def("_repr_html_", &Explanation::in_notebook)
      .def("__str__", &Explanation::text);
}

}  // namespace

void bind_reports(nb::module_& m) {
  nb::class_<Recording>(m, "Recording", "What the devices did in some steps.")
      .def("set_memory",
           &set_memory,
           nb::arg("told"),
           "Takes what PyTorch's allocator has told of GPUs, as JSON.");
  bind_comparison(m);
  bind_explanation<StepExplanation>(m, "Explanation", "What a step did, on which device and link.")
      .def("trace",
           &StepExplanation::trace,
           "The step's work and transfers for ui.perfetto.dev, as JSON for a file.");
  bind_explanation<MemoryExplanation>(m, "Memory", "What filled each device at its peak, and why.");
  m.def("record", &record, nb::arg("step"), nb::arg("steps") = 1);
  m.def(
      "explain",
      [](const Step& step) { return StepExplanation{record(step, 1)}; },
      nb::arg("step"),
      "Calls step(), and tells what it did: explain(lambda: model.step(batch, loss, optimizer)).\n"
      "\n"
      "All threads are seen, so let nothing else run meanwhile.");
  m.def(
      "memory",
      [](const Step& step) { return MemoryExplanation{record(step, 1)}; },
      nb::arg("step"),
      "Calls step(), and tells what filled each of the default devices at its peak.");
}

}  // namespace tandem::python
