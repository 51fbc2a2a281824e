// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "report/recording.hpp"

#include <algorithm>
#include <initializer_list>

#include <fmt/format.h>

#include "report/phases.hpp"

namespace tandem::report {
namespace {

using nlohmann::json;
using parallel::ExplainedDevice;

double ms_of_step(profile::Duration t, const Recording& recording) {
  return ms(t) / static_cast<double>(recording.steps);
}

}  // namespace

Recording record(std::span<const Device> devices,
                 std::int64_t steps,
                 const std::function<void()>& run) {
  Recording recording;
  recording.steps = steps;
  profile::MemoryRecorder memory(devices);
  profile::StepRecorder work;
  {
    const Subscription to_memory(memory), to_work(work);
    run();
  }
  recording.memory = memory.take();
  recording.record = work.take();
  recording.time = parallel::explain(recording.record);
  return recording;
}

std::int64_t rows_of(const Recording& recording, Device device) {
  const auto found = std::ranges::find(recording.time.devices, device, &ExplainedDevice::device);
  return found == recording.time.devices.end() ? 0 : std::max<std::int64_t>(found->rows.size(), 0);
}

namespace {

/// False for a program of PyTorch alone, which does not say what its tensors are for.
bool knows_causes(const profile::MemoryProfile& memory) {
  constexpr auto kParameter = static_cast<std::size_t>(Category::parameter);
  return std::ranges::any_of(memory.devices, [](const profile::DeviceMemory& m) {
    return profile::by_category(m.at_peak)[kParameter] > 0;
  });
}

}  // namespace

std::vector<std::string> advice(const profile::MemoryProfile& memory, const Remedies& remedies) {
  if (memory.devices.size() < 2 || memory.imbalance() <= 1.05 || !knows_causes(memory)) return {};
  const auto excess = [&](std::initializer_list<Category> categories) {
    double bytes = 0;
    for (std::size_t d = 0; d < memory.devices.size(); ++d) {
      const double share = d == 0 ? 1 : -1.0 / static_cast<double>(memory.devices.size() - 1);
      const profile::CategoryBytes sums = profile::by_category(memory.devices[d].at_peak);
      for (const Category c : categories)
        bytes += share * static_cast<double>(sums[static_cast<std::size_t>(c)]);
    }
    return static_cast<std::size_t>(std::max(bytes, 0.0));
  };
  const std::size_t state = excess({Category::optimizer});
  const std::size_t outputs = excess({Category::output, Category::output_gradient});
  const std::string first = to_string(memory.devices.front().device);
  std::vector<std::string> sentences;
  if (state > 0) {
    sentences.push_back(fmt::format(
        "{} of the extra memory on {} is the optimizer's state, which chunk sizes cannot move; "
        "{} divides it among the devices",
        format_nbytes(state),
        first,
        remedies.of_state));
  }
  if (outputs > 0) {
    sentences.push_back(
        fmt::format("{} of the extra memory on {} is gathered outputs and their gradients; "
                    "{} leaves them where they are",
                    format_nbytes(outputs),
                    first,
                    remedies.of_outputs));
  }
  return sentences;
}

json peak_by_category(const Recording& recording, std::size_t device) {
  auto categories = json::object();
  const profile::CategoryBytes sums =
      profile::by_category(recording.memory.devices.at(device).at_peak);
  for (std::size_t c = 0; c < sums.size(); ++c)
    if (sums[c] > 0) categories[name(static_cast<Category>(c))] = sums[c];
  return categories;
}

json ms_by_phase(const Recording& recording, Device device) {
  auto phases = json::object();
  for (const ExplainedDevice& e : recording.time.devices) {
    if (e.device != device) continue;
    for (std::size_t p = 0; p < e.time.size(); ++p)
      if (e.time[p] > profile::Duration{}) phases[phase_name(p)] = ms_of_step(e.time[p], recording);
    phases["collectives"] = ms_of_step(e.in_collectives - e.waiting, recording);
    phases["waiting"] = ms_of_step(e.waiting, recording);
  }
  return phases;
}

json links(const Recording& recording) {
  auto list = json::array();
  for (const auto& [link, traffic] : recording.time.links) {
    auto categories = json::object();
    const auto steps = static_cast<std::size_t>(recording.steps);
    for (std::size_t c = 0; c < traffic.by_category.size(); ++c)
      if (traffic.by_category[c] > 0)
        categories[name(static_cast<Category>(c))] = traffic.by_category[c] / steps;
    list.push_back({{"source", to_string(link.source)},
                    {"destination", to_string(link.destination)},
                    {"bytes", traffic.nbytes / steps},
                    {"bytes_by_category", categories}});
  }
  return list;
}

}  // namespace tandem::report
