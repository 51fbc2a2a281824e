// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "report/comparison.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "report/mode_table.hpp"
#include "report/number_or_null.hpp"
#include "report/tables.hpp"

namespace tandem::report {
namespace {

using nlohmann::json;

std::string per_step(std::size_t nbytes, std::int64_t steps) {
  return nbytes == 0 ? "-" : format_nbytes(nbytes / static_cast<std::size_t>(steps));
}

std::string figures_of(const Mode& mode, bool has_difference) {
  return fmt::format("{:<20} {:>9.2f} {:>9.2f} {:>12}",
                     mode.mode,
                     mode.p50,
                     mode.p90,
                     has_difference ? fmt::format("{:.1e}", mode.difference.value) : "-");
}

std::string table_of_modes(const Comparison& comparison) {
  std::string text = fmt::format("{:<20} {:>9} {:>9} {:>12}  {:<8} {:>5} {:>11} {:>11} {:>11}\n",
                                 "mode",
                                 "ms p50",
                                 "p90",
                                 "difference",
                                 "device",
                                 "rows",
                                 "peak",
                                 "sent/step",
                                 "received");
  for (const Mode& mode : comparison.modes) {
    std::string left =
        figures_of(mode, has_losses(comparison) && &mode != &comparison.modes.front());
    for (const DeviceFigures& d : mode.devices) {
      text += fmt::format("{}  {:<8} {:>5} {:>11} {:>11} {:>11}\n",
                          left,
                          to_string(d.device),
                          d.rows,
                          format_nbytes(d.peak_bytes),
                          per_step(d.bytes_sent, comparison.steps),
                          per_step(d.bytes_received, comparison.steps));
      left.assign(left.size(), ' ');
    }
  }
  return text;
}

/// What the modes reach on other samples; once where all reach the same.
std::string tests_of(const std::vector<Mode>& modes) {
  if (!modes.front().test) return "";
  const std::string& first = modes.front().test->text;
  if (std::ranges::all_of(modes, [&](const Mode& m) { return m.test && m.test->text == first; }))
    return first + ", in all modes\n";
  std::string text;
  for (const Mode& mode : modes)
    if (mode.test) text += fmt::format("{}: {}\n", mode.mode, mode.test->text);
  return text;
}

std::string sentences_on(const std::vector<Peer>& peers) {
  std::string text;
  for (const Peer& peer : peers)
    text += fmt::format("{}: {:.2f} ms a step (p50), {:.2f} (p90); weights: {:.1e}\n",
                        peer.name,
                        peer.p50,
                        peer.p90,
                        peer.difference.value);
  return text;
}

json step_ms(double p50, double p90) {
  return {{"p50", p50}, {"p90", p90}};
}

json devices_of(const Mode& mode) {
  auto devices = json::array();
  for (std::size_t i = 0; i < mode.devices.size(); ++i) {
    const DeviceFigures& d = mode.devices[i];
    devices.push_back({{"name", to_string(d.device)},
                       {"rows", d.rows},
                       {"peak_bytes", d.peak_bytes},
                       {"peak_by_category", peak_by_category(mode.recording, i)},
                       {"ms_by_phase", ms_by_phase(mode.recording, d.device)},
                       {"bytes_sent", d.bytes_sent},
                       {"bytes_received", d.bytes_received}});
  }
  return devices;
}

}  // namespace

bool has_losses(const Comparison& comparison) {
  return std::ranges::none_of(comparison.modes, [](const Mode& m) { return m.losses.empty(); });
}

std::string title(const Comparison& comparison) {
  const std::string processes =
      comparison.processes > 1 ? fmt::format(", in {} processes", comparison.processes) : "";
  return fmt::format("{} on {}, batches of {} rows, {} steps of {} in {}{}",
                     comparison.model,
                     comparison.data,
                     comparison.batch,
                     comparison.steps,
                     comparison.optimizer,
                     comparison.dtype,
                     processes);
}

std::string describe_weights(const Comparison& comparison) {
  if (!has_losses(comparison)) return "weights: none, since nothing was computed (shape-only)";
  double worst = 0;
  for (const Mode& m : comparison.modes)
    worst = std::max(worst, m.difference.value);
  std::string text =
      fmt::format("weights: at most {:.1e} from {}'s", worst, comparison.modes.front().mode);
  if (comparison.tolerance <= 0) return text;
  text += fmt::format(", {:.0e} is allowed in {}: {}",
                      comparison.tolerance,
                      comparison.dtype,
                      worst <= comparison.tolerance ? "equal" : "NOT EQUAL");
  if (worst > comparison.tolerance && std::isfinite(worst) && comparison.dtype == "f32")
    text += fmt::format(
        " (rounding can flip a ReLU or a maximum, and the difference grows; {} tells this from an "
        "error)",
        comparison.remedies.of_rounding);
  return text;
}

std::string text(const Comparison& comparison, bool with_tables) {
  std::string text = title(comparison) + "\n";
  if (!comparison.simulated.empty()) text += "times: " + comparison.simulated + "\n";
  text += '\n';
  text += table_of_modes(comparison);
  if (with_tables)
    for (const Mode& mode : comparison.modes)
      text += tables(mode.mode, mode.recording);
  if (const std::string differences = mode_table(comparison); !differences.empty())
    text += "\n" + differences;
  return text + "\n" + describe_weights(comparison) + "\n" + tests_of(comparison.modes) +
         sentences_on(comparison.peers);
}

json to_json(const Comparison& comparison) {
  auto modes = json::array();
  for (const Mode& m : comparison.modes) {
    modes.push_back({{"mode", m.mode},
                     {"step_ms", step_ms(m.p50, m.p90)},
                     {"max_relative_difference",
                      has_losses(comparison) ? number_or_null(m.difference.value) : json()},
                     {"worst_tensor", m.difference.tensor},
                     {"overlap", m.recording.time.overlap.share()},
                     {"imbalance", m.recording.memory.imbalance()},
                     {"complete", m.recording.is_complete()},
                     {"links", links(m.recording)},
                     {"devices", devices_of(m)}});
    if (!m.test) continue;
    modes.back()["test_accuracy"] = m.test->accuracy;
    modes.back()["test_loss"] = number_or_null(m.test->loss);
  }
  auto peers = json::array();
  for (const Peer& peer : comparison.peers)
    peers.push_back({{"name", peer.name},
                     {"step_ms", step_ms(peer.p50, peer.p90)},
                     {"max_relative_difference", number_or_null(peer.difference.value)},
                     {"worst_tensor", peer.difference.tensor}});
  json report{{"schema_version", 1},
              {"model", comparison.model},
              {"data", comparison.data},
              {"optimizer", comparison.optimizer},
              {"dtype", comparison.dtype},
              {"batch", comparison.batch},
              {"steps", comparison.steps},
              {"processes", comparison.processes},
              {"simulated", comparison.simulated.empty() ? json() : json(comparison.simulated)},
              {"modes", modes}};
  if (comparison.seed) report["seed"] = *comparison.seed;
  if (!peers.empty()) report["peers"] = peers;
  return report;
}

}  // namespace tandem::report
