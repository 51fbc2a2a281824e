// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/metrics.hpp"

#include "tandem/runtime/runtime.hpp"
#include "tandem/train/tensorboard.hpp"

namespace tandem::cli {

RunMetrics::RunMetrics(const MetricsChoice& choice,
                       training::Append append,
                       std::int64_t last_step,
                       std::function<void(const std::string&)> on_loss)
    : on_loss_(std::move(on_loss)) {
  const std::string& file = choice.file;
  if (file.ends_with(".jsonl"))
    writers_.push_back(training::jsonl_metrics(file, append, last_step));
  else if (!file.empty())
    writers_.push_back(training::csv_metrics(file, append, last_step));
  if (!choice.tensorboard.empty())
    writers_.push_back(training::tensorboard_metrics(choice.tensorboard));
}

void RunMetrics::step(const training::StepInfo& info) {
  add("train/loss", info.loss, info.step);
  add("train/step_ms", info.seconds.count() * 1e3, info.step);
}

void RunMetrics::epoch(const training::EpochInfo& info,
                       std::int64_t steps,
                       const std::vector<Device>& devices) {
  add("train/epoch_loss", info.loss, steps);
  add("test/loss", info.test_loss, steps);
  add("test/accuracy", info.test_accuracy, steps);
  for (const Device d : devices) {
    const std::size_t peak = logical_device(d).memory_stats().peak;
    add(detail::concat("peak_bytes/", d), static_cast<double>(peak), steps);
  }
}

void RunMetrics::add(std::string_view tag, double value, std::int64_t step) {
  std::erase_if(writers_, [&](const auto& writer) {
    try {
      writer->add_scalar(tag, value, step);
      return false;
    } catch (const FileError& e) {
      is_complete_ = false;
      on_loss_(detail::concat(e.what(), "; the run continues without this file"));
      return true;
    }
  });
}

}  // namespace tandem::cli
