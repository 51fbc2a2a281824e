// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tandem/optim/optimizer.hpp"

namespace tandem::optim {

/// Gives the learning rate of step (or epoch) `t`, counted from 0, for a group whose initial rate
/// was `base`.
///
/// It is a pure function, so that a resumed run continues exactly. The schedules below have
/// PyTorch's names and meanings.
using LRSchedule = std::function<double(double base, std::int64_t t)>;

/// Multiplies the rate by gamma after every step_size steps.
struct StepLR {
  std::int64_t step_size = 1;
  double gamma = 0.1;
  double operator()(double base, std::int64_t t) const;
};

/// Goes from base to eta_min in t_max steps along a half cosine, and back in the next t_max steps.
struct CosineAnnealingLR {
  std::int64_t t_max = 1;
  double eta_min = 0;
  double operator()(double base, std::int64_t t) const;
};

/// Multiplies base by a factor that changes linearly from start_factor to end_factor in total_iters
/// steps. Used for warm-up.
struct LinearLR {
  double start_factor = 1.0 / 3;
  double end_factor = 1;
  std::int64_t total_iters = 5;
  double operator()(double base, std::int64_t t) const;
};

/// Multiplies base by a function of the step.
struct LambdaLR {
  std::function<double(std::int64_t t)> factor;
  double operator()(double base, std::int64_t t) const { return base * factor(t); }
};

/// Runs one schedule after the other. Each counts from 0, and `schedules[i + 1]` begins at step
/// `milestones[i]`.
struct SequentialLR {
  std::vector<LRSchedule> schedules;
  std::vector<std::int64_t> milestones;  ///< increasing; one fewer than schedules
  double operator()(double base, std::int64_t t) const;
};

/// Applies all schedules at once. Each takes the rate of the one before as its base.
struct ChainedScheduler {
  std::vector<LRSchedule> schedules;
  double operator()(double base, std::int64_t t) const;
};

/// Sets the "lr" of an optimizer's groups by a schedule.
///
///     optim::LRScheduler scheduler(opt, optim::CosineAnnealingLR{.t_max = epochs});
///     for (...) { train(); scheduler.step(); }
class LRScheduler {
 public:
  /// Sets the rates for t = 0.
  ///
  /// @param optimizer  Must outlive this object. Its present rates are the bases.
  /// @throws InvalidArgument  if a size or count of the schedule is out of range.
  LRScheduler(Optimizer& optimizer, LRSchedule schedule);

  /// Sets the rates of the next t. Call it after the optimizer's step.
  void step();
  /// The number of steps so far, as PyTorch's last_epoch.
  std::int64_t last_epoch() const noexcept { return t_; }
  /// The present rate of each group.
  std::vector<double> get_last_lr() const;

  /// The numbers "last_epoch" and "base_lrs.<group>".
  std::map<std::string, double> state_dict() const;
  /// Continues where another scheduler stopped, and sets the rates.
  ///
  /// @throws InvalidArgument  if names or the number of groups differ, or a number is out of range.
  ///                          Nothing has changed.
  void load_state_dict(const std::map<std::string, double>& state);

 private:
  static std::vector<double> rates(const LRSchedule& schedule,
                                   const std::vector<double>& bases,
                                   std::int64_t t);
  void apply(const std::vector<double>& rates);

  Optimizer& optimizer_;
  LRSchedule schedule_;
  std::vector<double> bases_;
  std::int64_t t_ = 0;
};

/// How a learning rate depends on the batch size.
enum class LRScaling : std::uint8_t {
  linear,       ///< proportional to the batch size; for SGD (Goyal et al. 2017)
  square_root,  ///< proportional to its square root; for Adam and its kin (Krizhevsky 2014)
};

/// The learning rate for batches of `batch` rows, if `lr` is right for batches of `base_batch`
/// rows. Both count the rows of all devices and of all accumulated parts.
///
/// @throws InvalidArgument  if a batch is below 1.
double scaled_lr(double lr, std::int64_t base_batch, std::int64_t batch, LRScaling rule);

}  // namespace tandem::optim
