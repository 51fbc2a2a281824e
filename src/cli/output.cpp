// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/output.hpp"

#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "tandem/runtime/runtime.hpp"

#include "cli/console.hpp"
#include "report/number_or_null.hpp"

namespace tandem::cli {
namespace {

using report::number_or_null;

using Json = nlohmann::json;

/// A loss in nats, in bits.
double bits(double loss) {
  return loss / std::numbers::ln2;
}

}  // namespace

std::string describe_test(const training::EpochInfo& epoch, Measured measured) {
  if (measured == Measured::images) return fmt::format("test accuracy {:.4f}", epoch.test_accuracy);
  return fmt::format(
      "test loss {:.4f}, {:.3f} bits per character", epoch.test_loss, bits(epoch.test_loss));
}

Json to_json(const RunOptions& options, const training::RunReport& report, Measured measured) {
  Json devices = Json::array(), epochs = Json::array();
  for (const auto& d : report.devices)
    devices.push_back(
        {{"name", to_string(d.device)}, {"rows", d.rows}, {"peak_bytes", d.peak_bytes}});
  for (const auto& e : report.epochs) {
    epochs.push_back({{"epoch", e.epoch},
                      {"loss", number_or_null(e.loss)},
                      {"test_loss", number_or_null(e.test_loss)},
                      {"test_accuracy", e.test_accuracy},
                      {"seconds", e.seconds}});
    if (measured == Measured::images) continue;
    epochs.back()["test_bits_per_character"] = number_or_null(bits(e.test_loss));
    epochs.back()["test_perplexity"] = number_or_null(std::exp(e.test_loss));
  }
  return {{"schema_version", 1},
          {"mode", options.mode.name},
          {"model", options.model.name},
          {"data", options.data.name},
          {"dtype", options.numbers.dtype},
          {"optimizer", options.optimizer.name},
          {"batch", options.batch.full_batch()},
          {"accumulate", options.batch.accumulate},
          {"processes", options.processes()},
          {"seed", options.numbers.first_seed()},
          {"steps", report.steps},
          {"interrupted", nullptr},
          {"devices", devices},
          {"epochs", epochs},
          {"step_ms", {{"p50", report.step_ms_p50}, {"p90", report.step_ms_p90}}}};
}

void print_report(const training::RunReport& report, Measured measured) {
  for (const auto& e : report.epochs) {
    console::print("epoch {}: loss {:.4f}, {}, {:.1f} s\n",
                   e.epoch,
                   e.loss,
                   describe_test(e, measured),
                   e.seconds);
  }
  console::print("step: {:.1f} ms p50, {:.1f} ms p90 over {} steps\n",
                 report.step_ms_p50,
                 report.step_ms_p90,
                 report.steps);
  console::print("{:<8} {:>8} {:>12}\n", "device", "rows", "peak memory");
  for (const auto& d : report.devices)
    console::print(
        "{:<8} {:>8} {:>12}\n", to_string(d.device), d.rows, format_nbytes(d.peak_bytes));
}

}  // namespace tandem::cli
