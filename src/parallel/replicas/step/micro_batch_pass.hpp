// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "parallel/replicas/module/module_buffers.hpp"
#include "parallel/replicas/step/gradient_pass.hpp"

namespace tandem::parallel {

/// Processes a batch in micro-batches, one after the other; usually there is only one. Gradients
/// are reduced while the last backward runs.
class MicroBatchPass final : public GradientPass {
 public:
  MicroBatchPass(const NonFiniteCheck& non_finite,
                 LossBody body,
                 const ModuleGradients& gradients,
                 const ModuleBuffers& buffers)
      : GradientPass(non_finite, std::move(body)), gradients_(gradients), buffers_(buffers) {}

  bool begins_anew(const Call& call) const override { return call.accumulates(); }
  void run(Call& call, Call::Part& part) override;
  double outside_factor(const Call&) const override { return 1; }

 private:
  void run_micro_batch(Call& call, Call::Part& part, std::size_t index) const;
  /// The weight of the whole batch. Called when the replica knows its own part of it.
  ///
  /// @throws InvalidArgument  it is 0; see NonFiniteCheck::inspect_weight.
  /// The weight of the whole batch. @param late  adds to the part's own, which the host does not
  /// know; undefined: nothing does.
  Tensor total_weight(Call& call, Call::Part& part, const Tensor& late) const;
  /// A batch without weight has no mean loss.
  void inspect_total(Call& call, Call::Part& part, const Tensor& total) const;

  const ModuleGradients& gradients_;
  const ModuleBuffers& buffers_;
};

}  // namespace tandem::parallel
