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
/// Thread-safe to call: replicas may share one. A call is no step of the random numbers, and runs
/// no hooks.
class CrossEntropyLoss : public Module {
 public:
  explicit CrossEntropyLoss(CrossEntropyLossOptions options = {})
      : class_weight(options.class_weight),
        reduction_(options.reduction),
        ignore_index_(options.ignore_index),
        label_smoothing_(options.label_smoothing) {}

  Tensor operator()(const Tensor& logits, const Tensor& labels) const;
  /// Before the division: sums and weights of the parts of a batch add up to those of the whole.
  WeightedSum sum_and_weight(const Tensor& logits, const Tensor& labels) const;

  const char* type_name() const noexcept override { return "CrossEntropyLoss"; }
  void visit_members(MemberVisitor& visitor) override {
    detail::visit_members(visitor, "class_weight", class_weight);
  }

  BufferTensor class_weight;  ///< copied to the device of the logits where it differs

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

/// Negative log likelihood of what LogSoftmax gives. Called as CrossEntropyLoss is.
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

  BufferTensor class_weight;  ///< copied to the device of the input where it differs

 private:
  NllOptions options(const Tensor& like) const;

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

/// |a - b|. Called as CrossEntropyLoss is.
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

/// See tandem::smooth_l1_loss. Called as CrossEntropyLoss is.
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

/// See tandem::huber_loss. Called as CrossEntropyLoss is.
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
  Tensor weight = {};      ///< of each element; broadcasts to a part's logits, or undefined
  Tensor pos_weight = {};  ///< likewise
};

/// Sigmoid and binary cross entropy. Called as CrossEntropyLoss is.
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

  BufferTensor weight, pos_weight;  ///< copied to the device of the logits where they differ

 private:
  BceOptions options(const Tensor& logits) const;

  Reduction reduction_;
};

/// See tandem::kl_div. Called as CrossEntropyLoss is.
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
