// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/optim/lr_scheduler.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <utility>

#include "tandem/core/check.hpp"

#include "optim/is_count.hpp"

namespace tandem::optim {

double StepLR::operator()(double base, std::int64_t t) const {
  TANDEM_CHECK(step_size > 0, "StepLR: step_size is ", step_size, "; it must be above 0");
  const std::int64_t falls = t / step_size;
  return base * std::pow(gamma, static_cast<double>(falls));
}

double CosineAnnealingLR::operator()(double base, std::int64_t t) const {
  TANDEM_CHECK(t_max > 0, "CosineAnnealingLR: t_max is ", t_max, "; it must be above 0");
  const double turn = std::numbers::pi * static_cast<double>(t) / static_cast<double>(t_max);
  return eta_min + (base - eta_min) * (1 + std::cos(turn)) / 2;
}

double LinearLR::operator()(double base, std::int64_t t) const {
  TANDEM_CHECK(total_iters > 0, "LinearLR: total_iters is ", total_iters, "; it must be above 0");
  const double part =
      static_cast<double>(std::min(t, total_iters)) / static_cast<double>(total_iters);
  return base * (start_factor + (end_factor - start_factor) * part);
}

double SequentialLR::operator()(double base, std::int64_t t) const {
  TANDEM_CHECK(schedules.size() == milestones.size() + 1,
               "SequentialLR: got ",
               schedules.size(),
               " schedules and ",
               milestones.size(),
               " milestones; give one milestone fewer than schedules");
  TANDEM_CHECK(
      std::ranges::adjacent_find(milestones, std::ranges::greater_equal{}) == milestones.end(),
      "SequentialLR: the milestones must increase");
  const auto next = std::upper_bound(milestones.begin(), milestones.end(), t);
  const std::int64_t start = next == milestones.begin() ? 0 : *(next - 1);
  return schedules[static_cast<std::size_t>(next - milestones.begin())](base, t - start);
}

double ChainedScheduler::operator()(double base, std::int64_t t) const {
  for (const LRSchedule& schedule : schedules)
    base = schedule(base, t);
  return base;
}

LRScheduler::LRScheduler(Optimizer& optimizer, LRSchedule schedule)
    : optimizer_(optimizer), schedule_(std::move(schedule)) {
  TANDEM_CHECK(schedule_ != nullptr, "LRScheduler: the schedule is empty");
  for (const ParamGroup& group : optimizer_.param_groups())
    bases_.push_back(group.lr());
  apply(rates(schedule_, bases_, 0));
}

void LRScheduler::step() {
  apply(rates(schedule_, bases_, t_ + 1));
  ++t_;
}

std::vector<double> LRScheduler::get_last_lr() const {
  std::vector<double> rates;
  for (const ParamGroup& group : optimizer_.param_groups())
    rates.push_back(group.lr());
  return rates;
}

std::vector<double> LRScheduler::rates(const LRSchedule& schedule,
                                       const std::vector<double>& bases,
                                       std::int64_t t) {
  std::vector<double> rates;
  for (const double base : bases)
    rates.push_back(schedule(base, t));
  return rates;
}

void LRScheduler::apply(const std::vector<double>& rates) {
  for (std::size_t g = 0; g < rates.size(); ++g)
    optimizer_.param_groups()[g].set("lr", rates[g]);
}

std::map<std::string, double> LRScheduler::state_dict() const {
  std::map<std::string, double> state{{"last_epoch", static_cast<double>(t_)}};
  for (std::size_t g = 0; g < bases_.size(); ++g)
    state["base_lrs." + std::to_string(g)] = bases_[g];
  return state;
}

void LRScheduler::load_state_dict(const std::map<std::string, double>& state) {
  const auto number = [&](const std::string& key) {
    const auto at = state.find(key);
    TANDEM_CHECK(at != state.end(), "LRScheduler: the state has no '", key, "'");
    return at->second;
  };
  TANDEM_CHECK(state.size() == bases_.size() + 1,
               "LRScheduler: the state has ",
               state.size() - 1,
               " groups of parameters, but the optimizer has ",
               bases_.size());
  const double last = number("last_epoch");
  TANDEM_CHECK(
      is_count(last), "LRScheduler: last_epoch is ", last, ", which is not a count of steps");
  std::vector<double> bases;
  for (std::size_t g = 0; g < bases_.size(); ++g) {
    const std::string key = "base_lrs." + std::to_string(g);
    bases.push_back(number(key));
    TANDEM_CHECK(bases.back() >= 0 && std::isfinite(bases.back()),
                 "LRScheduler: ",
                 key,
                 " is ",
                 bases.back(),
                 ", which is not a learning rate");
  }
  const auto t = static_cast<std::int64_t>(last);
  apply(rates(schedule_, bases, t));
  bases_ = std::move(bases);
  t_ = t;
}

double scaled_lr(double lr, std::int64_t base_batch, std::int64_t batch, LRScaling rule) {
  TANDEM_CHECK(base_batch >= 1 && batch >= 1,
               "scaled_lr: got batches of ",
               base_batch,
               " and ",
               batch,
               " rows; a batch has at least one");
  const double factor = static_cast<double>(batch) / static_cast<double>(base_batch);
  return lr * (rule == LRScaling::linear ? factor : std::sqrt(factor));
}

}  // namespace tandem::optim
