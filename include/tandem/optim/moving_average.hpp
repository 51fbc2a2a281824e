// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tandem/optim/optimizer.hpp"

namespace tandem::optim {

struct MovingAverageOptions {
  double decay = 0.999;  ///< share of the old average in an update
};

/// Averages of parameters over training, to evaluate a model with: they are less noisy.
///
///     optim::ExponentialMovingAverage average(net.named_parameters());
///     ...
///     optimizer.step();
///     average.update();
///     ...
///     average.swap();  // evaluate, then swap back
///
/// The averages lie in an arena of their own on the parameters' device, Category::optimizer.
/// Buffers are not averaged. Not thread-safe.
class ExponentialMovingAverage {
 public:
  /// The averages begin as the parameters are. Binds parameters that are in no arena yet in one.
  ///
  /// @throws InvalidArgument  no parameters, several devices, two of one name, decay outside of [0,
  /// 1].
  explicit ExponentialMovingAverage(const ParamList& params, MovingAverageOptions options = {});

  /// average = decay average + (1 - decay) parameter; the first update takes the parameters as they
  /// are (PyTorch's AveragedModel).
  ///
  /// @throws InvalidArgument  the averages are swapped in.
  void update();
  /// Exchanges the values of parameters and averages; a second call puts them back.
  void swap();
  bool is_swapped() const noexcept { return swapped_; }
  std::int64_t updates() const noexcept { return updates_; }
  /// The averages under the names of their parameters; they share storage.
  const std::vector<NamedParameter>& averages() const noexcept { return averages_; }

  /// The averages by name, and the number "updates". @throws InvalidArgument  they are swapped in.
  OptimizerState state_dict() const;
  /// Copies a state into this one.
  ///
  /// @throws InvalidArgument  names or shapes differ, or the averages are swapped in: nothing has
  /// changed.
  void load_state_dict(const OptimizerState& state);

 private:
  void check_in_place(const char* what) const;

  MovingAverageOptions options_;
  std::vector<Tensor> params_;
  std::vector<NamedParameter> averages_;  // beside params_
  std::int64_t updates_ = 0;
  bool swapped_ = false;
};

}  // namespace tandem::optim
