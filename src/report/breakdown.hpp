// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "report/colours.hpp"
#include "report/html.hpp"

namespace tandem::report {

/// A bar of parts for each device of each mode, and the same as a table with a column for each kind
/// of part.
class Breakdown {
 public:
  using Text = std::function<std::string(double)>;
  struct Value {
    Kind kind;
    double value;
  };

  /// @param text  of a value, in bars and on the axis.
  Breakdown(Axis axis, Text text) : axis_(std::move(axis)), text_(std::move(text)) {}

  /// @param total  what stands beside the bar.
  void device(const std::string& mode,
              const std::string& name,
              std::vector<Value> parts,
              const std::string& total);
  /// @param total  heading of the totals' column; @param cell  text of a value in the table.
  std::string html(const std::string& total, const Text& cell) const;

 private:
  struct Row {
    std::string mode, name;
    std::vector<Value> parts;
    std::string total;
  };
  Picture bar_of(const Row& row) const;

  Axis axis_;
  Text text_;
  std::vector<Row> rows_;
};

}  // namespace tandem::report
