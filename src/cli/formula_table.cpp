// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/formula_table.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "tandem/profile/step_record.hpp"

#include "explain/sentences.hpp"

namespace tandem::cli {
namespace {

using parallel::ModeFormulas;
using profile::CategoryBytes;
using Figure = ModeFormulas::Figure;

ModeFormulas formulas_of(const RunOptions& options, Trial& trial) {
  using Calls = ModeFormulas::Setup::Calls;
  return {trial.task().module(),
          {.mode = options.mode.mode(),
           .devices = static_cast<int>(trial.task().devices().size()),
           .sharding = options.sharding.in(options.mode.mode()),
           .states = options.optimizer.states(),
           .accumulate = options.batch.accumulate,
           .calls = options.mode.keeps_outputs() ? Calls::step : Calls::forward_and_backward}};
}

/// Whether the formulas are meant for the steps of this run.
bool fit_steps(const RunOptions& options, Trial& trial) {
  const std::int64_t micro_batches = options.batch.accumulate;
  return options.processes() == 1 && options.batch.bitwise_leaves == 0 &&
         options.sharding.prefetch == 0 && !options.numbers.products() &&
         std::ranges::all_of(trial.devices(), [=](const report::DeviceFigures& device) {
           return device.rows >= micro_batches;
         });
}

std::size_t of(const CategoryBytes& bytes, Category category) {
  return bytes[static_cast<std::size_t>(category)];
}

std::size_t sent_by(Device device, const profile::StepRecord& record) {
  std::size_t sent = 0;
  for (const auto& [link, traffic] : profile::traffic(record))
    if (link.source == device)
      sent += of(traffic.by_category, Category::parameter) +
              of(traffic.by_category, Category::gradient);
  return sent;
}

std::size_t counted(Figure figure,
                    const profile::DeviceMemory& memory,
                    const profile::StepRecord& record) {
  const CategoryBytes rest = profile::by_category(memory.now);
  const CategoryBytes most = profile::peak_of_each_category(memory);
  const auto besides = [&](Category c) { return of(most, c) - of(rest, c); };
  switch (figure) {
    case Figure::parameters:
      return of(rest, Category::parameter);
    case Figure::gradients:
      return of(rest, Category::gradient);
    case Figure::state:
      return of(rest, Category::optimizer);
    case Figure::parameters_in_step:
      return besides(Category::parameter);
    case Figure::gradients_in_step:
      return besides(Category::gradient);
    case Figure::sent:
      return sent_by(memory.device, record);
  }
  return 0;
}

}  // namespace

FormulaTable::FormulaTable(const RunOptions& options,
                           Trial& trial,
                           const profile::MemoryProfile& memory)
    : devices_(trial.task().devices()) {
  const profile::StepRecord record = profile::record([&] { trial.run(1); });
  const ModeFormulas formulas = formulas_of(options, trial);
  legend_ = formulas.legend();
  const bool has_steps = fit_steps(options, trial);
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    auto& rows = rows_.emplace_back();
    for (const Figure figure : ModeFormulas::kFigures) {
      if (!has_steps && ModeFormulas::is_of_step(figure)) continue;
      const int device = static_cast<int>(d);
      rows.push_back({figure,
                      formulas.formula(figure, device),
                      formulas.nbytes(figure, device),
                      counted(figure, memory.devices[d], record)});
    }
  }
}

std::string FormulaTable::text() const {
  std::string text = fmt::format("bytes by formula, and as counted; {}\n", legend_);
  for (std::size_t r = 0; r < rows_.front().size(); ++r) {
    for (std::size_t d = 0; d < rows_.size(); ++d) {
      const auto is_alike = [&](std::size_t other) { return rows_[other][r] == rows_[d][r]; };
      std::set<Device> alike;
      for (std::size_t other = 0; other < rows_.size(); ++other)
        if (is_alike(other)) alike.insert(devices_[other]);
      if (*alike.begin() != devices_[d]) continue;  // they have a line
      const Row& row = rows_[d][r];
      text += fmt::format("  {:<22} {:<18} {:>12} {:>12}  {}\n",
                          name(row.figure),
                          row.formula,
                          row.by_formula,
                          row.counted,
                          parallel::list(alike));
    }
  }
  return text;
}

nlohmann::json FormulaTable::to_json(std::size_t device) const {
  auto figures = nlohmann::json::array();
  for (const Row& row : rows_[device]) {
    figures.push_back({{"figure", name(row.figure)},
                       {"formula", row.formula},
                       {"formula_bytes", row.by_formula},
                       {"counted_bytes", row.counted}});
  }
  return figures;
}

}  // namespace tandem::cli
