// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/train/metrics.hpp"

#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <nlohmann/json.hpp>

#include "tandem/core/check.hpp"

#include "train/stream_file.hpp"

namespace tandem::training {
namespace {

/// The fewest digits that give the value again.
std::string shortest(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

StreamStart start_of(Append append) {
  return append == Append::yes ? StreamStart::append : StreamStart::replace;
}

/// The number after `key` in a line that such a writer wrote; none: the line has none.
std::optional<std::int64_t> number_after(std::string_view line, std::string_view key) {
  const auto at = line.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  std::int64_t number = 0;
  const char* begin = line.data() + at + key.size();
  if (std::from_chars(begin, line.data() + line.size(), number).ec != std::errc())
    return std::nullopt;
  return number;
}

/// Cuts off what a run that was killed wrote after the step that it goes on from, and half a line.
void cut_after(const std::string& path, std::int64_t last_step, std::string_view key) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return;
  std::ifstream in(path, std::ios::binary);
  std::uintmax_t kept = 0;
  for (std::string line; std::getline(in, line) && !in.eof(); kept += line.size() + 1) {
    const auto step = number_after(line, key);
    if (step && *step > last_step) break;
  }
  in.close();
  if (kept < std::filesystem::file_size(path, error) && !error)
    std::filesystem::resize_file(path, kept, error);
  if (error)
    throw FileError(
        path,
        -1,
        "cannot remove the lines after step " + std::to_string(last_step) + ": " + error.message());
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

std::unique_ptr<MetricsWriter> csv_metrics(const std::string& path,
                                           Append append,
                                           std::optional<std::int64_t> last_step) {
  if (append == Append::yes && last_step) cut_after(path, *last_step, "");
  return std::make_unique<CsvMetrics>(path, append);
}

std::unique_ptr<MetricsWriter> jsonl_metrics(const std::string& path,
                                             Append append,
                                             std::optional<std::int64_t> last_step) {
  if (append == Append::yes && last_step) cut_after(path, *last_step, "\"step\":");
  return std::make_unique<JsonlMetrics>(path, append);
}

}  // namespace tandem::training
