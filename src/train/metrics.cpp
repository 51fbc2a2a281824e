// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/train/metrics.hpp"

#include <charconv>
#include <chrono>
#include <cmath>

#include <nlohmann/json.hpp>

#include "tandem/core/check.hpp"
#include "tandem/train/metrics.hpp"

#include "train/stream_file.hpp"

namespace tandem::train {
namespace {

/// The fewest digits that give the value again.
std::string shortest(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

StreamStart start_of(Append append) {
  return append == Append::yes ? StreamStart::append : StreamStart::replace;
}

class CsvMetrics final : public MetricsWriter {
 public:
  CsvMetrics(const std::string& path, Append append) : file_(path, start_of(append)) {
    if (file_.is_empty()) file_.write("step,seconds,tag,value\n");
  }
  void add_scalar(std::string_view tag, double value, std::int64_t step) override {
    file_.write(tandem::detail::concat(
        step, ',', shortest(seconds_now()), ',', tag, ',', shortest(value), '\n'));
  }

 private:
  StreamFile file_;
};

class JsonlMetrics final : public MetricsWriter {
 public:
  JsonlMetrics(const std::string& path, Append append) : file_(path, start_of(append)) {}
  void add_scalar(std::string_view tag, double value, std::int64_t step) override {
    nlohmann::json line{{"step", step}, {"seconds", seconds_now()}, {"tag", tag}, {"value", {}}};
    if (std::isfinite(value)) line["value"] = value;
    file_.write(line.dump() + "\n");
  }

 private:
  StreamFile file_;
};

}  // namespace

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::unique_ptr<MetricsWriter> csv_metrics(const std::string& path, Append append) {
  return std::make_unique<CsvMetrics>(path, append);
}

std::unique_ptr<MetricsWriter> jsonl_metrics(const std::string& path, Append append) {
  return std::make_unique<JsonlMetrics>(path, append);
}

}  // namespace tandem::train
