// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::sim {

/// What an all-reduce of one size took.
struct TimingRow {
  std::size_t nbytes = 0;       ///< of each GPU's input
  double seconds = 0;           ///< out of place
  double in_place_seconds = 0;  ///< in place
};

/// Measured times of all-reduces among the same GPUs.
struct TimingTable {
  std::string name;  ///< of its file
  int gpus = 0;
  std::vector<TimingRow> rows = {};
};

/// Reads a table in CSV: the line "bytes,out_of_place_ns,in_place_ns", then a row for each size.
///
/// @param name  of the file; it ends in _n<number of GPUs>.csv unless `gpus` says the number
/// @throws InvalidArgument  with the line, for other columns, values that are not positive numbers,
///                          an empty table, and an unknown number of GPUs.
TimingTable parse_timing_table(const std::string& name,
                               std::string_view csv,
                               std::optional<int> gpus = std::nullopt);

/// Reads a table from a file. @throws FileError  as parse_timing_table, or the file cannot be read.
TimingTable read_timing_table(const std::string& path, std::optional<int> gpus = std::nullopt);

}  // namespace tandem::sim
