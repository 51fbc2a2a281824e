// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tandem/optim/optimizer.hpp"

namespace tandem::optim {

struct MovingAverageOptions {
  double decay = 0.999;  ///< the share of the old average in an update
};

/// Averages of parameters over training. A model evaluated with them is less noisy.
///
///     optim::ExponentialMovingAverage average(net.named_parameters());
///     ...
///     optimizer.step();
///     average.update();
///     ...
///     average.swap();  // evaluate, then swap back
///
/// The averages are in their own arena on the parameters' device, in Category::optimizer. Buffers
/// are not averaged. Not thread-safe.
class ExponentialMovingAverage {
 public:
  /// Starts the averages as copies of the parameters. Parameters that are in no arena yet are bound
  /// in one.
  ///
  /// @throws InvalidArgument  if there are no parameters, they are on several devices, two have the
  ///                          same name, or decay is outside [0, 1].
  explicit ExponentialMovingAverage(const ParamList& params, MovingAverageOptions options = {});

  /// Sets average = decay * average + (1 - decay) * parameter. The first update copies the
  /// parameters, as PyTorch's AveragedModel does.
  ///
  /// @throws InvalidArgument  if the averages are swapped in.
  void update();
  /// Exchanges the values of parameters and averages. A second call puts them back.
  void swap();
  bool is_swapped() const noexcept { return swapped_; }
  std::int64_t updates() const noexcept { return updates_; }
  /// The averages, under the names of their parameters. These tensors share the averages' storage.
  const std::vector<NamedParameter>& averages() const noexcept { return averages_; }

  /// The averages by name, and the number "updates".
  ///
  /// @throws InvalidArgument  if the averages are swapped in.
  OptimizerState state_dict() const;
  /// Copies a state into this object.
  ///
  /// @throws InvalidArgument  if names, shapes or dtypes differ, or the averages are swapped in.
  ///                          Nothing has changed.
  void load_state_dict(const OptimizerState& state);

 private:
  void check_in_place(const char* what) const;

  MovingAverageOptions options_;
  std::vector<Tensor> params_;
  std::vector<NamedParameter> averages_;  // in the order of params_
  std::int64_t updates_ = 0;
  bool swapped_ = false;
};

}  // namespace tandem::optim
