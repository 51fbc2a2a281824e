// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/details.hpp"

#include <algorithm>
#include <initializer_list>
#include <vector>

#include <fmt/format.h>

#include "cli/console.hpp"

namespace tandem::cli {
namespace {

using nlohmann::json;
using parallel::ExplainedDevice;

const char* phase_name(std::size_t phase) {
  return phase == 0 ? "other" : name(static_cast<Phase>(phase));
}

double ms(profile::Duration t, std::int64_t steps) {
  return cli::ms(t) / static_cast<double>(steps);
}

/// The numbers from 0 to n - 1 of which `used` is true of some of `items`.
template <class Items, class F>
std::vector<std::size_t> used_columns(std::size_t n, const Items& items, const F& used) {
  std::vector<std::size_t> columns;
  for (std::size_t c = 0; c < n; ++c)
    if (std::ranges::any_of(items, [&](const auto& item) { return used(item, c); }))
      columns.push_back(c);
  return columns;
}

void print_memory(const Details& d) {
  const auto columns =
      used_columns(kCategories, d.memory.devices, [](const auto& m, std::size_t c) {
        return profile::by_category(m.at_peak)[c] > 0;
      });
  console::print("{:<16}", "peak, KiB");
  for (const std::size_t c : columns)
    console::print(" {:>15}", name(static_cast<Category>(c)));
  console::print("\n");
  for (const profile::DeviceMemory& m : d.memory.devices) {
    console::print("{:<16}", to_string(m.device));
    for (const std::size_t c : columns)
      console::print(" {:>15.1f}", static_cast<double>(profile::by_category(m.at_peak)[c]) / 1024);
    console::print("\n");
  }
}

void print_links(const Details& d) {
  if (d.time.links.empty()) return;
  const auto columns = used_columns(kCategories, d.time.links, [](const auto& link, std::size_t c) {
    return link.second.by_category[c] > 0;
  });
  console::print("{:<16}", "KiB per step");
  for (const std::size_t c : columns)
    console::print(" {:>15}", name(static_cast<Category>(c)));
  console::print("\n");
  for (const auto& [link, traffic] : d.time.links) {
    console::print("{:<16}", to_string(link.source) + " -> " + to_string(link.destination));
    for (const std::size_t c : columns) {
      console::print(
          " {:>15.1f}",
          static_cast<double>(traffic.by_category[c]) / 1024 / static_cast<double>(d.steps));
    }
    console::print("\n");
  }
}

}  // namespace

void print_time(const parallel::Explanation& time, std::int64_t steps) {
  const auto columns =
      used_columns(kPhases, time.devices, [](const ExplainedDevice& e, std::size_t p) {
        return e.time[p] > profile::Duration{};
      });
  console::print("{:<16}", "ms per step");
  for (const std::size_t p : columns)
    console::print(" {:>15}", phase_name(p));
  console::print(" {:>15} {:>15} {:>15}\n", "collectives", "waiting", "idle");
  for (const ExplainedDevice& e : time.devices) {
    console::print("{:<16}", to_string(e.device));
    profile::Duration busy = e.in_collectives;
    for (const std::size_t p : columns) {
      console::print(" {:>15.2f}", ms(e.time[p], steps));
      busy += e.time[p];
    }
    console::print(" {:>15.2f} {:>15.2f} {:>15.2f}\n",
                   ms(e.in_collectives - e.waiting, steps),
                   ms(e.waiting, steps),
                   ms(std::max(time.duration - busy, profile::Duration{}), steps));
  }
  if (time.overlap.transferring > profile::Duration{}) {
    console::print(
        "overlap: bytes were under way for {:.2f} ms of a step, and a device computed during "
        "{:.0f} % of that time\n",
        ms(time.overlap.transferring, steps),
        100 * time.overlap.share());
  }
}

Details watch(Trial& trial, std::int64_t steps) {
  trial.run(1);  // parameters may be everywhere already, from an evaluation
  Details details;
  details.steps = steps;
  profile::MemoryRecorder memory(trial.task().devices());
  profile::StepRecorder work;
  {
    const Subscription to_memory(memory), to_work(work);
    trial.run(steps);
  }
  details.memory = memory.take();
  details.record = work.take();
  details.time = parallel::explain(details.record);
  return details;
}

std::vector<std::string> advice(const profile::MemoryProfile& memory) {
  if (memory.devices.size() < 2 || memory.imbalance() <= 1.05) return {};
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
        "--mode dp-sharded divides it among the devices",
        format_nbytes(state),
        first));
  }
  if (outputs > 0) {
    sentences.push_back(
        fmt::format("{} of the extra memory on {} is gathered outputs and their gradients; "
                    "--loss-in-replica leaves them where they are",
                    format_nbytes(outputs),
                    first));
  }
  return sentences;
}

json peak_by_category(const Details& details, std::size_t device) {
  auto categories = json::object();
  const profile::CategoryBytes sums =
      profile::by_category(details.memory.devices.at(device).at_peak);
  for (std::size_t c = 0; c < sums.size(); ++c)
    if (sums[c] > 0) categories[name(static_cast<Category>(c))] = sums[c];
  return categories;
}

json ms_by_phase(const Details& details, Device device) {
  auto phases = json::object();
  for (const ExplainedDevice& e : details.time.devices) {
    if (e.device != device) continue;
    for (std::size_t p = 0; p < e.time.size(); ++p)
      if (e.time[p] > profile::Duration{}) phases[phase_name(p)] = ms(e.time[p], details.steps);
    phases["collectives"] = ms(e.in_collectives - e.waiting, details.steps);
    phases["waiting"] = ms(e.waiting, details.steps);
  }
  return phases;
}

json links(const Details& details) {
  auto list = json::array();
  for (const auto& [link, traffic] : details.time.links) {
    auto categories = json::object();
    const auto steps = static_cast<std::size_t>(details.steps);
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

void print_details(const std::string& mode, const Details& details) {
  console::print("\n{}\n", mode);
  print_memory(details);
  print_time(details.time, details.steps);
  print_links(details);
}

}  // namespace tandem::cli
