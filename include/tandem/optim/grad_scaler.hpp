// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "tandem/optim/optimizer.hpp"
#include "tandem/tensor/tensor.hpp"

namespace tandem::optim {

/// PyTorch's names and defaults.
struct GradScalerOptions {
  double init_scale = 65536;
  double growth_factor = 2;
  double backoff_factor = 0.5;
  std::int64_t growth_interval = 2000;  ///< steps without overflow before the scale grows
};

/// Scales the loss so that gradients of f16 do not vanish below 6e-8, and skips the steps in which
/// they overflow. bf16 needs no scaler, because it has the exponents of f32.
///
///     scaler.scale(loss).backward();
///     scaler.step(optimizer);   // unscales; skips the update if a gradient is not finite
///     scaler.update();
///
/// With DataParallel, pass it to the step, which does all of this:
/// `dp.step(batch, loss, &optimizer, {.scaler = &scaler})`. One thread may use a scaler at a time.
class GradScaler {
 public:
  /// Whether a step had a gradient with an infinity or NaN.
  enum class Overflow : std::uint8_t { no, yes };

  /// @throws InvalidArgument  if an option is out of range.
  explicit GradScaler(const GradScalerOptions& options = {});

  /// loss * get_scale(), on the tape.
  Tensor scale(const Tensor& loss) const;
  /// Divides the gradients of the optimizer's parameters by the scale. Call it, for example, before
  /// clipping.
  ///
  /// @throws InvalidArgument  if they have already been unscaled since the last update().
  /// @cost  A pass over the gradients and a read of each device.
  void unscale_(Optimizer& optimizer);
  /// Calls unscale_, if that has not been done, and then the optimizer's step, if all gradients are
  /// finite.
  ///
  /// @return  whether the step was made.
  /// @throws  what Optimizer::step throws.
  [[nodiscard]] bool step(Optimizer& optimizer, OptimizerStepOptions options = {});
  /// Adapts the scale. Call it at the end of each step.
  ///
  /// @throws InvalidArgument  if nothing was unscaled.
  void update();
  /// The same for a step whose gradients were unscaled and checked elsewhere.
  void update(Overflow found) noexcept;

  double get_scale() const noexcept { return scale_; }
  /// The scale and the number of steps since it last changed, for a checkpoint.
  struct State {
    double scale = 0;
    std::int64_t growth_tracker = 0;
    friend bool operator==(const State&, const State&) = default;
  };
  State state() const noexcept { return {scale_, growth_tracker_}; }
  void load_state(const State& state) noexcept;

 private:
  GradScalerOptions options_;
  double scale_;
  std::int64_t growth_tracker_ = 0;
  std::optional<Overflow> found_;  // none: not unscaled yet
};

}  // namespace tandem::optim
