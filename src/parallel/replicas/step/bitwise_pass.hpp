// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "parallel/reduce/leaves.hpp"
#include "parallel/replicas/step/gradient_pass.hpp"

namespace tandem::parallel {

/// Processes a batch leaf by leaf, so that the bits do not depend on the number of devices
/// (DataParallelOptions::bitwise_leaves). At the end the gradients are on device 0.
class BitwisePass final : public GradientPass {
 public:
  /// @param leaves  the leaves of the batch.
  BitwisePass(const NonFiniteCheck& non_finite, LossBody body, std::vector<Leaf> leaves)
      : GradientPass(non_finite, std::move(body)),
        leaves_(std::move(leaves)),
        losses_(leaves_.size()) {}

  bool begins_anew(const Call&) const override { return true; }
  void run(Call& call, Call::Part& part) override;
  bool gives_whole_gradients() const noexcept override { return true; }
  double outside_factor(const Call& call) const override;

 private:
  void run_leaf(Call& call, Call::Part& part, std::size_t leaf);
  /// Adds up the devices' sums on device 0.
  void join_leaves(Call& call, Call::Part& first);

  std::vector<Leaf> leaves_;
  std::vector<std::pair<double, double>> losses_;  // by leaf: sum and weight
};

}  // namespace tandem::parallel
