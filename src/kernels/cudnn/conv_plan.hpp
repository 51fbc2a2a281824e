// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include <cudnn.h>

#include "tandem/core/dtype.hpp"

#include "kernels/conv.hpp"
#include "kernels/cudnn/descriptor.hpp"

namespace tandem::kernels::cudnn {

enum class Pass : std::uint8_t { forward, input_grad, weight_grad };

/// x, y and weights with channels innermost, or all three row-major.
enum class Layout : std::uint8_t { channels_first, channels_last };

/// What the choice of an algorithm depends on.
struct ConvProblem {
  Pass pass;
  DType type;
  Layout layout;
  MatmulPrecision precision;
  ConvSize size;
  std::int64_t alignment;  ///< bytes, of all three

  using Key = std::array<std::int64_t, 21>;
  Key key() const noexcept;
};

/// A convolution as cuDNN runs it.
class ConvPlan {
 public:
  /// The best one that gives the same bits in every run and keeps to the precision; none where
  /// cuDNN has none.
  static std::optional<ConvPlan> make(cudnnHandle_t handle, const ConvProblem& problem);

  std::size_t workspace() const noexcept { return workspace_; }
  /// @param x, weight, y  of a gradient the gradients in their place.
  void run(cudnnHandle_t handle, void* x, void* weight, void* y, void* workspace) const;

 private:
  ConvPlan(Descriptor plan, std::size_t workspace)
      : plan_(std::move(plan)), workspace_(workspace) {}

  Descriptor plan_;
  std::size_t workspace_;
};

}  // namespace tandem::kernels::cudnn
