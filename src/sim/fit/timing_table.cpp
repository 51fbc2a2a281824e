// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/sim/timing_table.hpp"

#include <cmath>
#include <cstdint>
#include <filesystem>

#include "tandem/core/check.hpp"
#include "tandem/core/error.hpp"

#include "sim/fit/table_text.hpp"

namespace tandem::sim {
namespace {

constexpr std::string_view kColumns = "bytes,out_of_place_ns,in_place_ns";

void check_columns(const std::string& name, std::string_view line) {
  if (line == kColumns) return;
  refuse_line(name,
              1,
              detail::concat("the columns are \"",
                             shown_text(line),
                             "\"; they must be \"",
                             kColumns,
                             "\", bytes and nanoseconds"));
}

TimingRow parse_row(const std::string& name, std::size_t number, std::string_view line) {
  std::string_view rest = line;
  const std::string_view bytes = next_part(rest, ','), out_of_place = next_part(rest, ',');
  std::uint64_t nbytes = 0;
  double ns = 0, in_place_ns = 0;
  if (!parse_number(bytes, nbytes) || !parse_number(out_of_place, ns) ||
      !parse_number(rest, in_place_ns))
    refuse_line(name,
                number,
                detail::concat("\"", shown_text(line), "\" is not three numbers, of ", kColumns));
  const bool is_good = nbytes > 0 && ns > 0 && in_place_ns > 0 && std::isfinite(ns + in_place_ns);
  if (!is_good)
    refuse_line(
        name, number, detail::concat("\"", shown_text(line), "\"; all numbers must be positive"));
  return {.nbytes = nbytes, .seconds = ns * 1e-9, .in_place_seconds = in_place_ns * 1e-9};
}

/// 8 for "allreduce_a100_n8.csv"; nothing if the name does not say it.
std::optional<int> gpus_of(const std::string& name) {
  const std::string stem = std::filesystem::path(name).stem().string();
  const std::size_t at = stem.rfind("_n");
  int gpus = 0;
  if (at == std::string::npos || !parse_number(std::string_view(stem).substr(at + 2), gpus))
    return std::nullopt;
  return gpus;
}

}  // namespace

TimingTable parse_timing_table(const std::string& name,
                               std::string_view csv,
                               std::optional<int> gpus) {
  if (!gpus) gpus = gpus_of(name);
  TANDEM_CHECK(gpus,
               name,
               ": the name does not say how many GPUs were timed; let it end in _n8.csv for 8 of "
               "them, or give the number");
  TANDEM_CHECK(
      *gpus >= 2, name, ": times of ", *gpus, " GPUs; an all-reduce needs at least 2 of them");
  csv = table_lines(name, csv);
  TANDEM_CHECK(!csv.empty(), name, " is empty; its first line must be \"", kColumns, "\"");
  TimingTable table{.name = name, .gpus = *gpus};
  for (std::size_t number = 1; !csv.empty(); ++number) {
    const std::string_view line = next_line(csv);
    if (number == 1)
      check_columns(name, line);
    else if (!line.empty())
      table.rows.push_back(parse_row(name, number, line));
  }
  TANDEM_CHECK(!table.rows.empty(), name, " has columns, but no row");
  return table;
}

TimingTable read_timing_table(const std::string& path, std::optional<int> gpus) {
  const std::string text = read_table_text(path);
  const std::string name = std::filesystem::path(path).filename().string();
  try {
    TimingTable table = parse_timing_table(name, text, gpus);
    table.name = path;
    return table;
  } catch (const InvalidArgument& e) {
    refuse_file(path, name, e);
  }
}

}  // namespace tandem::sim
