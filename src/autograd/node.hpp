// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "tandem/autograd/autograd.hpp"
#include "tandem/autograd/gradient_source.hpp"

namespace tandem::autograd {

/// Where a gradient goes: output `output` of `node`, or the leaf; neither where none is wanted.
struct Edge {
  std::shared_ptr<Node> node;
  int output = 0;
  std::shared_ptr<TensorImpl> leaf;

  bool wanted() const noexcept { return node != nullptr || leaf != nullptr; }
  /// The same tensor of the same tape.
  friend bool operator==(const Edge&, const Edge&) = default;
};

/// What autograd keeps with a tensor that has a place on the tape.
struct Meta final : AutogradMeta {
  bool requires_grad = false;
  std::shared_ptr<Node> grad_fn;  // null: a leaf
  int output = 0;
  Tensor grad;
  Tensor bound;                                     // fixed storage of grad; undefined: none
  std::vector<std::pair<int, GradientHook>> hooks;  // of a leaf
  int next_hook = 0;
  AccumulateHook on_accumulate;
  AccumulateHook on_part;                // a wrapper's
  bool holds_hooks = false;              // the user's
  std::uint64_t realm = 0;               // of a leaf: the replica's that it belongs to; 0: none
  std::weak_ptr<GradientSource> source;  // of parts of a leaf's grad that are elsewhere
};

/// Null where the tensor is plain data.
Meta* meta_of(const TensorImpl& impl) noexcept;
Meta& make_meta(TensorImpl& impl);
Edge edge_of(const Tensor& x);

struct Node : std::enable_shared_from_this<Node> {
  struct Output {
    Shape shape;
    DType dtype;
    Device device;
    std::vector<std::pair<int, GradientHook>> hooks;
  };

  ~Node();
  /// Runs formula or fused kernel. @throws InvalidArgument  the tape was released.
  Gradients run(const std::vector<Tensor>& dys, bool create_graph);
  /// After a backward that keeps no tape: frees what the formula holds, at once or, where each
  /// output has a backward of its own, after that of the last one.
  void spend(const std::vector<Tensor>& dys) noexcept;

  const char* name = "";
  std::shared_ptr<const Context> context;
  std::uint64_t sequence = 0;
  Device device;  // of the inputs: where gradients are made
  std::vector<Edge> inputs;
  std::vector<Shape> input_shapes;
  std::vector<Output> outputs;
  MultiFormula formula, fused;
  OutputFormula output_formula, output_fused;
  Saved output;                   // off the tape; where output_formula is set
  bool separate_outputs = false;  // what a formula frees is told by the gradients it gets
  std::vector<bool> spent;        // by output, where they are separate
  bool released = false;

 private:
  void release() noexcept;
};

/// Each output of the op that made `ys` has a backward of its own: a second one, through others
/// than the first, is no second one of the same tape.
void separate_outputs(const std::vector<Tensor>& ys);

}  // namespace tandem::autograd
