// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tandem/nn/module.hpp"
#include "tandem/ops/loss.hpp"

namespace tandem::nn {

struct CrossEntropyLossOptions {
  Reduction reduction = Reduction::mean;
  std::int64_t ignore_index = -100;
  Tensor class_weight = {};  ///< (C) or undefined
};

/// Softmax and negative log likelihood. See tandem::cross_entropy.
///
/// Thread-safe to call: replicas may share one. A call is no step of the random numbers, and runs
/// no hooks.
class CrossEntropyLoss : public Module {
 public:
  explicit CrossEntropyLoss(CrossEntropyLossOptions options = {})
      : class_weight(options.class_weight),
        reduction_(options.reduction),
        ignore_index_(options.ignore_index) {}

  Tensor operator()(const Tensor& logits, const Tensor& labels) const;
  /// Before the division: sums and weights of the parts of a batch add up to those of the whole.
  WeightedSum sum_and_weight(const Tensor& logits, const Tensor& labels) const;

  const char* type_name() const noexcept override { return "CrossEntropyLoss"; }
  void visit_members(MemberVisitor& visitor) override {
    detail::visit_members(visitor, "class_weight", class_weight);
  }

  BufferTensor class_weight;  ///< copied to the device of the logits where it differs

 private:
  Reduction reduction_;
  std::int64_t ignore_index_;
};

/// (a - b)^2. Called as CrossEntropyLoss is.
class MSELoss : public Module {
 public:
  explicit MSELoss(Reduction reduction = Reduction::mean) : reduction_(reduction) {}

  Tensor operator()(const Tensor& a, const Tensor& b) const;
  WeightedSum sum_and_weight(const Tensor& a, const Tensor& b) const;

  const char* type_name() const noexcept override { return "MSELoss"; }
  void visit_members(MemberVisitor&) override {}

 private:
  Reduction reduction_;
};

}  // namespace tandem::nn
