// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "autograd/node.hpp"

namespace tandem::autograd {

/// The gradients that a backward returns and does not accumulate: those of some tensors.
///
/// Lanes note gradients at the same time.
class Captures {
 public:
  /// @throws InvalidArgument  a tensor does not require grad.
  explicit Captures(std::vector<Tensor> tensors);

  /// The backward accumulates.
  bool empty() const noexcept { return edges_.empty(); }
  bool has(const Edge& edge) const;
  bool has_leaf(const TensorImpl* leaf) const;
  /// A node's output has got its whole gradient.
  void note(const Node& node, std::size_t output, const Tensor& gradient);
  /// So has a leaf.
  void note(const std::shared_ptr<TensorImpl>& leaf, const Tensor& gradient);
  /// The gradients in the order of the tensors. Called when all lanes have ended.
  std::vector<Tensor> take() { return std::move(results_); }

 private:
  std::vector<Tensor> tensors_;  // keep their tape
  std::vector<Edge> edges_;      // of the tensors
  std::mutex mutex_;             // guards the results
  std::vector<Tensor> results_;
};

}  // namespace tandem::autograd
