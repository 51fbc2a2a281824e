// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "report/breakdown.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace tandem::report {

void Breakdown::device(const std::string& mode,
                       const std::string& name,
                       std::vector<Value> parts,
                       const std::string& total) {
  rows_.push_back({mode, name, std::move(parts), total});
}

Picture Breakdown::bar_of(const Row& row) const {
  Picture bar(kBarHeight, fmt::format("{} in {}: {}", row.name, row.mode, row.total));
  double sum = 0, x = 0;
  for (const Value& p : row.parts)
    sum += p.value;
  for (const Value& p : row.parts) {
    const double width = 1000 * p.value / axis_.end;
    bar.rect(x,
             0,
             width,
             kBarHeight,
             p.kind.style,
             fmt::format("{}: {}\n{}, {:.0f} % of {}",
                         p.kind.name,
                         text_(p.value),
                         row.name,
                         100 * p.value / sum,
                         text_(sum)));
    x += width;
  }
  return bar;
}

std::string Breakdown::html(const std::string& total, const Text& cell) const {
  Legend legend;
  for (const Row& r : rows_)
    for (const Value& p : r.parts)
      legend.add(p.kind);
  std::vector<std::string> head{"mode", "device", total}, labels;
  for (const Kind& k : legend.kinds())
    head.emplace_back(k.name);
  Table table(head);
  std::string pictures, mode;
  for (const Row& r : rows_) {
    if (r.mode != mode) pictures += fmt::format("<h3>{}</h3>\n", escape(r.mode));
    mode = r.mode;
    pictures += row(r.name, bar_of(r), r.total);
    std::vector<std::string> cells{r.mode, r.name, r.total};
    for (const Kind& k : legend.kinds()) {
      const auto part = std::ranges::find(r.parts, k, &Value::kind);
      cells.push_back(part == r.parts.end() ? "-" : cell(part->value));
    }
    table.row(cells);
  }
  for (const double t : axis_.ticks)
    labels.push_back(t > 0 ? text_(t) : "0");
  return legend.html() + "<figure>" + pictures + ticks_below(axis_, labels) + "</figure>\n" +
         table.html();
}

}  // namespace tandem::report
