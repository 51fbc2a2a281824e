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
  double label_smoothing = 0;
};

/// Softmax and negative log likelihood. See tandem::cross_entropy.
///
/// Calls are thread-safe, so replicas may share one object. A call does not advance the random
/// numbers and runs no hooks.
class CrossEntropyLoss : public Module {
 public:
  explicit CrossEntropyLoss(CrossEntropyLossOptions options = {})
      : class_weight(options.class_weight),
        reduction_(options.reduction),
        ignore_index_(options.ignore_index),
        label_smoothing_(options.label_smoothing) {}

  Tensor operator()(const Tensor& logits, const Tensor& labels) const;
  /// The loss before the division. The sums and weights of a batch's parts add up to those of the
  /// whole batch.
  WeightedSum sum_and_weight(const Tensor& logits, const Tensor& labels) const;

  const char* type_name() const noexcept override { return "CrossEntropyLoss"; }
  void visit_members(MemberVisitor& visitor) override {
    detail::visit_members(visitor, "class_weight", class_weight);
  }

  BufferTensor class_weight;  ///< copied to the device of the logits if that is another one

 private:
  CrossEntropyOptions options(const Tensor& logits) const;

  Reduction reduction_;
  std::int64_t ignore_index_;
  double label_smoothing_;
};

struct NLLLossOptions {
  Reduction reduction = Reduction::mean;
  std::int64_t ignore_index = -100;
  Tensor class_weight = {};  ///< (C) or undefined
};

/// Negative log likelihood of LogSoftmax's result. Called like CrossEntropyLoss.
class NLLLoss : public Module {
 public:
  explicit NLLLoss(NLLLossOptions options = {})
      : class_weight(options.class_weight),
        reduction_(options.reduction),
        ignore_index_(options.ignore_index) {}

  Tensor operator()(const Tensor& log_probabilities, const Tensor& labels) const;
  WeightedSum sum_and_weight(const Tensor& log_probabilities, const Tensor& labels) const;

  const char* type_name() const noexcept override { return "NLLLoss"; }
  void visit_members(MemberVisitor& visitor) override {
    detail::visit_members(visitor, "class_weight", class_weight);
  }

  BufferTensor class_weight;  ///< copied to the device of the input if that is another one

 private:
  NllOptions options(const Tensor& like) const;

  Reduction reduction_;
  std::int64_t ignore_index_;
};

/// (a - b)^2. Called like CrossEntropyLoss.
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

/// |a - b|. Called like CrossEntropyLoss.
class L1Loss : public Module {
 public:
  explicit L1Loss(Reduction reduction = Reduction::mean) : reduction_(reduction) {}

  Tensor operator()(const Tensor& a, const Tensor& b) const;
  WeightedSum sum_and_weight(const Tensor& a, const Tensor& b) const;

  const char* type_name() const noexcept override { return "L1Loss"; }
  void visit_members(MemberVisitor&) override {}

 private:
  Reduction reduction_;
};

/// See tandem::smooth_l1_loss. Called like CrossEntropyLoss.
class SmoothL1Loss : public Module {
 public:
  explicit SmoothL1Loss(Reduction reduction = Reduction::mean, double beta = 1)
      : reduction_(reduction), beta_(beta) {}

  Tensor operator()(const Tensor& a, const Tensor& b) const;
  WeightedSum sum_and_weight(const Tensor& a, const Tensor& b) const;

  const char* type_name() const noexcept override { return "SmoothL1Loss"; }
  void visit_members(MemberVisitor&) override {}

 private:
  Reduction reduction_;
  double beta_;
};

/// See tandem::huber_loss. Called like CrossEntropyLoss.
class HuberLoss : public Module {
 public:
  explicit HuberLoss(Reduction reduction = Reduction::mean, double delta = 1)
      : reduction_(reduction), delta_(delta) {}

  Tensor operator()(const Tensor& a, const Tensor& b) const;
  WeightedSum sum_and_weight(const Tensor& a, const Tensor& b) const;

  const char* type_name() const noexcept override { return "HuberLoss"; }
  void visit_members(MemberVisitor&) override {}

 private:
  Reduction reduction_;
  double delta_;
};

struct BCEWithLogitsLossOptions {
  Reduction reduction = Reduction::mean;
  /// Factor of each element's loss; broadcasts to the logits of each part of a batch, or undefined.
  Tensor weight = {};
  Tensor pos_weight = {};  ///< factor of the loss of the positive class; likewise
};

/// Sigmoid and binary cross entropy. Called like CrossEntropyLoss.
class BCEWithLogitsLoss : public Module {
 public:
  explicit BCEWithLogitsLoss(BCEWithLogitsLossOptions options = {})
      : weight(options.weight), pos_weight(options.pos_weight), reduction_(options.reduction) {}

  Tensor operator()(const Tensor& logits, const Tensor& target) const;
  WeightedSum sum_and_weight(const Tensor& logits, const Tensor& target) const;

  const char* type_name() const noexcept override { return "BCEWithLogitsLoss"; }
  void visit_members(MemberVisitor& visitor) override {
    detail::visit_members(visitor, "weight, pos_weight", weight, pos_weight);
  }

  BufferTensor weight, pos_weight;  ///< copied to the device of the logits if that is another one

 private:
  BceOptions options(const Tensor& logits) const;

  Reduction reduction_;
};

/// See tandem::kl_div. Called like CrossEntropyLoss.
class KLDivLoss : public Module {
 public:
  explicit KLDivLoss(Reduction reduction = Reduction::mean,
                     KlTarget target = KlTarget::probabilities)
      : reduction_(reduction), target_(target) {}

  Tensor operator()(const Tensor& input, const Tensor& target) const;
  WeightedSum sum_and_weight(const Tensor& input, const Tensor& target) const;

  const char* type_name() const noexcept override { return "KLDivLoss"; }
  void visit_members(MemberVisitor&) override {}

 private:
  Reduction reduction_;
  KlTarget target_;
};

}  // namespace tandem::nn
