// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tandem/profile/memory_profile.hpp"
#include "tandem/runtime/unowned_memory.hpp"

#include "cli/choices/json_choice.hpp"
#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/details.hpp"
#include "cli/trial.hpp"
#include "cli/validators.hpp"

namespace tandem::cli {
namespace {

using nlohmann::json;
using profile::DeviceMemory;
using profile::Held;
using profile::MemoryProfile;

constexpr std::size_t kOwners = 5;  // that are shown of a device
constexpr int kWidth = 40;          // of the longest bar, in columns

/// Some steps, with what each device held, and why.
struct MemoryRequest {
  RunOptions run_options;
  std::int64_t steps = 3;
  JsonChoice json;

  void add_flags(CLI::App& app) {
    run_options.add_flags(app);
    app.add_option("--steps", steps, "number of steps to take and watch")
        ->check(at_least(1))
        ->capture_default_str();
    json.add_flags(app);
  }
  int run() const;
};

/// Sums of what is held, by category and then by the phase that allocated it.
std::array<std::array<std::size_t, kPhases>, kCategories> by_phase(const std::vector<Held>& held) {
  std::array<std::array<std::size_t, kPhases>, kCategories> sums{};
  for (const Held& h : held)
    sums[static_cast<std::size_t>(h.category)][static_cast<std::size_t>(h.phase)] += h.nbytes;
  return sums;
}

/// Phase none is what was there before the first step, or between steps.
const char* phase_name(Phase phase) {
  return phase == Phase::none ? "before" : name(phase);
}

json to_json(const std::vector<Held>& held) {
  auto categories = json::object();
  const auto sums = by_phase(held);
  for (std::size_t c = 0; c < sums.size(); ++c) {
    auto phases = json::object();
    std::size_t sum = 0;
    for (std::size_t p = 0; p < sums[c].size(); ++p) {
      if (sums[c][p] > 0) phases[phase_name(static_cast<Phase>(p))] = sums[c][p];
      sum += sums[c][p];
    }
    if (sum > 0)
      categories[name(static_cast<Category>(c))] = {{"bytes", sum}, {"by_phase", phases}};
  }
  return categories;
}

json owners(const std::vector<Held>& held) {
  auto list = json::array();
  for (const Held& h : held) {
    list.push_back({{"category", name(h.category)},
                    {"phase", phase_name(h.phase)},
                    {"module", h.module_path},
                    {"bytes", h.nbytes}});
  }
  return list;
}

json sums_of(const std::vector<Held>& held) {
  auto categories = json::object();
  const profile::CategoryBytes sums = profile::by_category(held);
  for (std::size_t c = 0; c < sums.size(); ++c)
    categories[name(static_cast<Category>(c))] = sums[c];
  return categories;
}

/// What the plan said before the steps; nothing: there was none.
parallel::StepPlan predicted(const RunOptions& options, Trial& trial) {
  const parallel::StepModel* model = trial.task().step_model();
  if (model == nullptr) return {};
  std::vector<std::int64_t> rows;
  for (const RowRange& r : trial.task().plan(options.batch.full_batch()))
    rows.push_back(r.size());
  return model->predict(rows);
}

/// The most rows that keep to the devices' limits; none: no limit, or no plan.
std::optional<std::int64_t> largest_batch(Trial& trial) {
  const parallel::StepModel* model = trial.task().step_model();
  if (model == nullptr) return std::nullopt;
  const std::int64_t rows = model->largest_batch();
  if (rows == std::numeric_limits<std::int64_t>::max()) return std::nullopt;
  return rows;
}

json to_json(const RunOptions& options,
             std::int64_t steps,
             const MemoryProfile& memory,
             Trial& trial) {
  auto devices = json::array();
  const parallel::StepPlan plan = predicted(options, trial);
  for (std::size_t d = 0; d < memory.devices.size(); ++d) {
    const DeviceMemory& m = memory.devices[d];
    json& device = devices.emplace_back();
    device = {{"name", to_string(m.device)},
              {"rows", trial.devices()[d].rows},
              {"peak_bytes", m.peak},
              {"peak_phase", phase_name(m.peak_phase)},
              {"peak_by_category", sums_of(m.at_peak)},
              {"peak_by_category_and_phase", to_json(m.at_peak)},
              {"peak_owners", owners(m.at_peak)},
              {"in_use_bytes", m.in_use},
              {"in_use_by_category", sums_of(m.now)}};
    if (const auto unowned = unowned_memory(m.device)) device["unowned_bytes"] = *unowned;
    if (plan.rows.empty()) continue;
    device["predicted_peak_bytes"] = plan.peak_bytes[d];
    device["predicted_ms"] = plan.ms[d];
  }
  json report = {{"schema_version", 1},
                 {"model", options.model.name},
                 {"data", options.data.name},
                 {"mode", options.mode.name},
                 {"dtype", options.numbers.dtype},
                 {"batch", options.batch.full_batch()},
                 {"steps", steps},
                 {"complete", memory.complete},
                 {"imbalance", memory.imbalance()},
                 {"devices", devices}};
  if (!plan.rows.empty()) {
    const std::optional<std::int64_t> most = largest_batch(trial);
    report["largest_batch"] = most ? json(*most) : json();
  }
  return report;
}

/// `nbytes` of `most` as blocks and eighths of one.
std::string bar(std::size_t nbytes, std::size_t most) {
  static constexpr std::array kEighths{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto eighths = static_cast<std::size_t>(
      std::lround(static_cast<double>(nbytes) / static_cast<double>(most) * (8 * kWidth)));
  std::string text;
  for (std::size_t i = 0; i < eighths / 8; ++i)
    text += "█";
  text += kEighths[eighths % 8];
  if (text.empty()) text = "▏";
  const std::size_t columns = std::max<std::size_t>((eighths + 7) / 8, 1);
  return text + std::string(kWidth - std::min<std::size_t>(columns, kWidth), ' ');
}

/// "forward 10.1 MiB, backward 2.2 MiB": the phases in which the bytes were allocated.
std::string phases(const std::array<std::size_t, kPhases>& sums) {
  std::string text;
  for (std::size_t p = 0; p < sums.size(); ++p) {
    if (sums[p] == 0) continue;
    if (!text.empty()) text += ", ";
    text += fmt::format("{} {}", phase_name(static_cast<Phase>(p)), format_nbytes(sums[p]));
  }
  return text;
}

/// "activation of conv1 in forward", "parameter of conv1", "input".
std::string owner(const Held& h) {
  std::string text = name(h.category);
  if (!h.module_path.empty()) text += " of " + h.module_path;
  if (h.phase != Phase::none) text += fmt::format(" in {}", name(h.phase));
  return text;
}

void print(const DeviceMemory& m,
           std::int64_t rows,
           std::optional<std::size_t> plan,
           std::size_t most) {
  console::print("\n{:<8} {:>6} rows {:>12}  reached in {}{}\n",
                 to_string(m.device),
                 rows,
                 format_nbytes(m.peak),
                 phase_name(m.peak_phase),
                 plan ? fmt::format(", planned {}", format_nbytes(*plan)) : "");
  const auto sums = by_phase(m.at_peak);
  const profile::CategoryBytes totals = profile::by_category(m.at_peak);
  std::vector<std::pair<std::size_t, std::size_t>> ordered;  // bytes, category
  for (std::size_t c = 0; c < totals.size(); ++c)
    if (totals[c] > 0) ordered.emplace_back(totals[c], c);
  std::ranges::stable_sort(ordered, std::ranges::greater{}, [](const auto& x) { return x.first; });
  for (const auto& [nbytes, c] : ordered) {
    console::print("  {:<16} {} {:>11}  {}\n",
                   name(static_cast<Category>(c)),
                   bar(nbytes, most),
                   format_nbytes(nbytes),
                   phases(sums[c]));
  }
  if (const auto unowned = unowned_memory(m.device)) {
    console::print(
        "  the process holds {} more GPU memory: context, NCCL, cuBLAS, blocks that pools keep\n",
        format_nbytes(*unowned));
  }
  std::string largest;
  for (std::size_t i = 0; i < std::min(m.at_peak.size(), kOwners); ++i) {
    const Held& h = m.at_peak[i];
    largest += fmt::format("{}{} {}", i == 0 ? "" : ", ", owner(h), format_nbytes(h.nbytes));
  }
  if (!largest.empty()) console::print("  largest owners: {}\n", largest);
}

void print(const RunOptions& options,
           std::int64_t steps,
           const MemoryProfile& memory,
           Trial& trial) {
  const parallel::StepPlan plan = predicted(options, trial);
  console::print("{} on {}, {}, batches of {} rows, {} steps: memory at its peak, by cause\n",
                 options.model.name,
                 options.data.name,
                 options.mode.name,
                 options.batch.full_batch(),
                 steps);
  std::size_t most = 1;
  for (const DeviceMemory& m : memory.devices)
    most = std::max(most, m.peak);
  for (std::size_t d = 0; d < memory.devices.size(); ++d)
    print(memory.devices[d],
          trial.devices()[d].rows,
          plan.rows.empty() ? std::nullopt : std::optional(plan.peak_bytes[d]),
          most);
  if (memory.devices.size() > 1) {
    console::print("\nimbalance {:.2f}: the peak of {} over the mean peak of the others\n",
                   memory.imbalance(),
                   to_string(memory.devices.front().device));
    for (const std::string& sentence : advice(memory))
      console::print("{}\n", sentence);
  }
  if (const auto fitting = largest_batch(trial))
    console::print("\nlargest batch within the limits: about {} rows\n", *fitting);
  if (!memory.complete)
    console::print("\nThis is incomplete: the host had no memory to keep every change\n");
}

int MemoryRequest::run() const {
  const PreparedRun prepared = prepare_run(run_options, {json.given_file()});
  const RunOptions& options = prepared.options;
  Trial trial(prepared);
  if (options.batch.is_planned())
    trial.run(1);  // the plan is measured by steps without effect, which are not watched
  const MemoryProfile memory =
      profile::record_memory(trial.task().devices(), [&] { trial.run(steps); });
  json.write([&] { return to_json(options, steps, memory, trial); });
  if (json.leaves_text()) print(options, steps, memory, trial);
  return 0;
}

}  // namespace

Command memory_command() {
  return make_command<MemoryRequest>(
      "memory",
      "say what fills each device at its peak, by cause, and how unequal the devices are");
}

}  // namespace tandem::cli
