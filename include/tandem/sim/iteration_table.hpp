// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::sim {

/// A training step that was measured. Names are those of the program that trains; here they are
/// texts.
struct IterationRow {
  std::size_t line = 0;      ///< of the file, from 1
  std::string model = {};    ///< never empty
  std::string mode = {};     ///< never empty
  int gpus = 0;              ///< at least 1
  std::int64_t batch = 0;    ///< rows over all GPUs; at least 1
  std::int64_t context = 0;  ///< tokens of a row; 0 for images
  double seconds = 0;        ///< measured; above 0
  std::string dtype = "f32";
  std::optional<double> bucket_nbytes = {};  ///< above 0; none: the default
  bool copies_buckets = false;               ///< see SimulateOptions
  std::string loss = {};                     ///< where it is calculated; empty: by the mode
  std::string optimizer = "adamw";
  std::string name = {};  ///< words for people

  friend bool operator==(const IterationRow&, const IterationRow&) = default;
};

/// Measured training steps.
struct IterationTable {
  std::string name;  ///< of its file
  std::vector<IterationRow> rows = {};
};

/// Reads a table in CSV: a line with the names of the columns in any order, then a row for each
/// measurement.
///
/// The columns are model, mode, gpus, batch, context and measured_ms, and optionally dtype,
/// bucket_mb (2^20 bytes), bucket_copies (yes or no), loss, optimizer and name. An optional cell
/// may be empty, and then means what a row has by default. Empty lines are skipped.
///
/// @param name  of the file, for messages
/// @throws InvalidArgument  with the line and the column: columns that are missing, unknown or
///                          given twice, a row with more or fewer cells, cells that are not numbers
///                          or out of range, and a table without rows.
IterationTable parse_iteration_table(const std::string& name, std::string_view csv);

/// Reads a table from a file. @throws FileError  as parse_iteration_table, or the file cannot be
/// read.
IterationTable read_iteration_table(const std::string& path);

/// "table.csv, line 3, column mode: why", for what only the program that trains can tell.
/// @throws InvalidArgument  always.
[[noreturn]] void refuse_cell(const IterationTable& table,
                              const IterationRow& row,
                              std::string_view column,
                              const std::string& why);

}  // namespace tandem::sim
