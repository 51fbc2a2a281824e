// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/sim/iteration_table.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>

#include "tandem/core/check.hpp"
#include "tandem/core/error.hpp"

#include "sim/fit/table_text.hpp"

namespace tandem::sim {
namespace {

constexpr double kMiB = 1 << 20;
constexpr double kMostMs = 1e9;
constexpr double kMostBucket = 1e6;  // MiB

/// A cell, with what a message about it needs.
struct Cell {
  std::string_view text;
  std::string_view column;
  const std::string& name;  // of the file
  std::size_t line;

  [[noreturn]] void refuse(const std::string& why) const { refuse_column(name, line, column, why); }
  std::string filled() const {
    if (text.empty()) refuse("the cell is empty, and it has no default; fill it in");
    return std::string(text);
  }
  /// Leaves what `value` is if the cell is empty.
  void fill(std::string& value) const {
    if (!text.empty()) value = text;
  }
  /// Empty: no.
  bool yes_or_no() const {
    if (text != "yes" && text != "no" && !text.empty())
      refuse(detail::concat('"', shown_text(text), "\" is neither yes nor no"));
    return text == "yes";
  }
  /// A number that is not below `least`.
  template <class Number>
  Number at_least(Number least) const {
    Number number{};
    if (!parse_number(text, number))
      refuse(detail::concat('"', shown_text(text), "\" is not a whole number"));
    if (number < least) refuse(detail::concat(number, "; it must be at least ", least));
    return number;
  }
  double above_zero(double most = std::numeric_limits<double>::max()) const {
    double number = 0;
    if (!parse_number(text, number))
      refuse(detail::concat('"', shown_text(text), "\" is not a number; leave out its unit"));
    if (!(number > 0)) refuse(detail::concat(number, "; it must be positive"));
    if (!(number <= most)) refuse(detail::concat(number, "; it must be at most ", most));
    return number;
  }
};

struct Column {
  std::string_view name;
  bool is_required;
  void (*fill)(const Cell& cell, IterationRow& row);
};
/// All columns.
constexpr std::array kIterationColumns{
    Column{"model", true, [](const Cell& c, IterationRow& row) { row.model = c.filled(); }},
    Column{"mode", true, [](const Cell& c, IterationRow& row) { row.mode = c.filled(); }},
    Column{"gpus", true, [](const Cell& c, IterationRow& row) { row.gpus = c.at_least<int>(1); }},
    Column{"batch",
           true,
           [](const Cell& c, IterationRow& row) { row.batch = c.at_least<std::int64_t>(1); }},
    Column{"context",
           true,
           [](const Cell& c, IterationRow& row) { row.context = c.at_least<std::int64_t>(0); }},
    Column{"measured_ms",
           true,
           [](const Cell& c, IterationRow& row) { row.seconds = c.above_zero(kMostMs) * 1e-3; }},
    Column{"dtype", false, [](const Cell& c, IterationRow& row) { c.fill(row.dtype); }},
    Column{"bucket_mb",
           false,
           [](const Cell& c, IterationRow& row) {
             if (!c.text.empty()) row.bucket_nbytes = c.above_zero(kMostBucket) * kMiB;
           }},
    Column{"bucket_copies",
           false,
           [](const Cell& c, IterationRow& row) { row.copies_buckets = c.yes_or_no(); }},
    Column{"loss", false, [](const Cell& c, IterationRow& row) { c.fill(row.loss); }},
    Column{"optimizer", false, [](const Cell& c, IterationRow& row) { c.fill(row.optimizer); }},
    Column{"name", false, [](const Cell& c, IterationRow& row) { c.fill(row.name); }},
};

std::string column_names(bool is_required) {
  std::string names;
  for (const Column& column : kIterationColumns)
    if (column.is_required == is_required)
      names += (names.empty() ? "" : ", ") + std::string(column.name);
  return names;
}

std::vector<const Column*> parse_columns(const std::string& name, std::string_view line) {
  std::vector<const Column*> columns;
  for (auto left = std::ranges::count(line, ',') + 1; left > 0; --left) {
    const std::string_view text = next_part(line, ',');
    const auto at = std::ranges::find(kIterationColumns, text, &Column::name);
    if (at == kIterationColumns.end())
      refuse_line(name,
                  1,
                  detail::concat("there is no column \"",
                                 shown_text(text),
                                 "\"; the columns are ",
                                 column_names(true),
                                 ", and if need be ",
                                 column_names(false)));
    if (std::ranges::find(columns, &*at) != columns.end())
      refuse_line(name, 1, detail::concat("column ", at->name, " is there twice"));
    columns.push_back(&*at);
  }
  for (const Column& column : kIterationColumns)
    if (column.is_required && std::ranges::find(columns, &column) == columns.end())
      refuse_line(name,
                  1,
                  detail::concat(
                      "column ", column.name, " is missing; a table needs ", column_names(true)));
  return columns;
}

IterationRow parse_row(const std::string& name,
                       std::size_t number,
                       std::string_view line,
                       const std::vector<const Column*>& columns) {
  const auto cells = static_cast<std::size_t>(std::ranges::count(line, ',')) + 1;
  if (cells != columns.size())
    refuse_line(name,
                number,
                detail::concat('"',
                               shown_text(line),
                               "\" has ",
                               cells,
                               " cells, and line 1 names ",
                               columns.size(),
                               " columns"));
  IterationRow row{.line = number};
  for (const Column* column : columns)
    column->fill({next_part(line, ','), column->name, name, number}, row);
  return row;
}

}  // namespace

IterationTable parse_iteration_table(const std::string& name, std::string_view csv) {
  csv = table_lines(name, csv);
  TANDEM_CHECK(!csv.empty(),
               name,
               " is empty; its first line must name the columns ",
               column_names(true),
               ", and if need be ",
               column_names(false));
  IterationTable table{.name = name};
  const std::vector<const Column*> columns = parse_columns(name, next_line(csv));
  for (std::size_t number = 2; !csv.empty(); ++number) {
    const std::string_view line = next_line(csv);
    if (!line.empty()) table.rows.push_back(parse_row(name, number, line, columns));
  }
  TANDEM_CHECK(!table.rows.empty(), name, " has columns, but no row");
  return table;
}

IterationTable read_iteration_table(const std::string& path) {
  const std::string text = read_table_text(path);
  const std::string name = std::filesystem::path(path).filename().string();
  try {
    IterationTable table = parse_iteration_table(name, text);
    table.name = path;
    return table;
  } catch (const InvalidArgument& e) {
    refuse_file(path, name, e);
  }
}

void refuse_cell(const IterationTable& table,
                 const IterationRow& row,
                 std::string_view column,
                 const std::string& why) {
  refuse_column(table.name, row.line, column, why);
}

}  // namespace tandem::sim
