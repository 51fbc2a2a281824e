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

/// The rate of step (or epoch) `t`, from 0, for a group whose rate at the start was `base`.
///
/// A pure function, so that a resumed run goes on exactly. Below are PyTorch's, by their names.
using Schedule = std::function<double(double base, std::int64_t t)>;

/// Multiplies by gamma after every step_size steps.
struct StepLR {
  std::int64_t step_size = 1;
  double gamma = 0.1;
  double operator()(double base, std::int64_t t) const;
};

/// From base to eta_min in t_max steps along a half cosine, and back in the next t_max.
struct CosineAnnealingLR {
  std::int64_t t_max = 1;
  double eta_min = 0;
  double operator()(double base, std::int64_t t) const;
};

/// A factor that goes in a straight line from start_factor to end_factor in total_iters steps:
/// warm-up.
struct LinearLR {
  double start_factor = 1.0 / 3;
  double end_factor = 1;
  std::int64_t total_iters = 5;
  double operator()(double base, std::int64_t t) const;
};

/// base times a function of the step.
struct LambdaLR {
  std::function<double(std::int64_t t)> factor;
  double operator()(double base, std::int64_t t) const { return base * factor(t); }
};

/// One schedule after the other, each counting from 0: `schedules[i + 1]` begins at
/// `milestones[i]`.
struct SequentialLR {
  std::vector<Schedule> schedules;
  std::vector<std::int64_t> milestones;  ///< increasing; one less than schedules
  double operator()(double base, std::int64_t t) const;
};

/// All at once: each takes the rate of the one before as its base.
struct ChainedScheduler {
  std::vector<Schedule> schedules;
  double operator()(double base, std::int64_t t) const;
};

/// Sets the "lr" of an optimizer's groups by a schedule.
///
///     optim::LRScheduler scheduler(opt, optim::CosineAnnealingLR{.t_max = epochs});
///     for (...) { train(); scheduler.step(); }
class LRScheduler {
 public:
  /// Sets the rates of t = 0. @param optimizer  outlives this object; its rates are the bases.
  /// @throws InvalidArgument  a size or count of the schedule is out of range.
  LRScheduler(Optimizer& optimizer, Schedule schedule);

  /// Goes on to the next t; after the optimizer's step.
  void step();
  /// Steps so far (PyTorch's last_epoch).
  std::int64_t last_epoch() const noexcept { return t_; }
  /// The present rate of each group.
  std::vector<double> get_last_lr() const;

  /// "last_epoch", and "base_lrs.<group>".
  std::map<std::string, double> state_dict() const;
  /// Goes on where another one stopped, and sets the rates. @throws InvalidArgument  names or
  /// number of groups differ; nothing has changed.
  void load_state_dict(const std::map<std::string, double>& state);

 private:
  static std::vector<double> rates(const Schedule& schedule,
                                   const std::vector<double>& bases,
                                   std::int64_t t);
  void apply(const std::vector<double>& rates);

  Optimizer& optimizer_;
  Schedule schedule_;
  std::vector<double> bases_;
  std::int64_t t_ = 0;
};

/// How a learning rate follows the size of a batch.
enum class LRScaling : std::uint8_t {
  linear,       ///< Goyal et al. 2017, for SGD: as the batch
  square_root,  ///< Krizhevsky 2014; the one for Adam and its kin: as the root of the batch
};

/// The rate for batches of `batch` rows where `lr` is right for batches of `base_batch`: over all
/// devices, and over what is accumulated.
///
/// @throws InvalidArgument  a batch is below 1.
double scaled_lr(double lr, std::int64_t base_batch, std::int64_t batch, LRScaling rule);

}  // namespace tandem::optim
