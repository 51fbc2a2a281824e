// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "tandem/autograd/autograd.hpp"
#include "tandem/autograd/gradient_source.hpp"

namespace tandem::autograd {

/// Where a gradient goes: to output `output` of `node`, or to the leaf; to neither if none is
/// wanted.
struct Edge {
  std::shared_ptr<Node> node;
  int output = 0;
  std::shared_ptr<TensorImpl> leaf;

  bool wanted() const noexcept { return node != nullptr || leaf != nullptr; }
  /// Whether both are the same tensor on the same tape.
  friend bool operator==(const Edge&, const Edge&) = default;
};

/// Inputs of the op whose backward runs that autograd::grad does not ask for.
struct UnwantedInputs {
  std::vector<Edge> edges;
};

/// Says where an op may make the gradient of an input: fixed storage of the leaf, if the op is the
/// only one to add to it; else undefined. Called in the op's backward, as accumulate is.
struct GradientPlaces {
  std::function<Tensor(const Tensor& input)> of;
};

/// What autograd stores with a tensor that is on the tape.
struct Meta final : AutogradMeta {
  bool requires_grad = false;
  std::shared_ptr<Node> grad_fn;  // null: a leaf
  int output = 0;
  Tensor grad;
  Tensor bound;                                     // fixed storage for grad; undefined: none
  std::vector<std::pair<int, GradientHook>> hooks;  // of a leaf
  int next_hook = 0;
  AccumulateHook on_accumulate;
  AccumulateHook on_part;    // set by a wrapper
  bool holds_hooks = false;  // holds back the user's hooks
  std::uint64_t realm = 0;   // for a leaf: the realm of the replica it belongs to; 0: none
  std::weak_ptr<GradientSource> source;  // for parts of a leaf's grad that are elsewhere
};

/// Null if the tensor is plain data.
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
  /// Runs the formula or the fused kernel. @throws InvalidArgument  the tape was released.
  Gradients run(const std::vector<Tensor>& dys, bool create_graph);
  /// Called after a backward that keeps no tape. Frees what the formula holds: at once or, if each
  /// output has a backward of its own, after the backward of the last output.
  void spend(const std::vector<Tensor>& dys) noexcept;

  const char* name = "";
  std::shared_ptr<const Context> context;
  std::uint64_t sequence = 0;
  Device device;  // of the inputs; gradients are made there
  std::vector<Edge> inputs;
  std::vector<Shape> input_shapes;
  std::vector<Output> outputs;
  MultiFormula formula, fused;
  OutputFormula output_formula, output_fused;
  Saved output;                   // detached from the tape; set if output_formula is set
  bool separate_outputs = false;  // the gradients that a formula gets tell what it may free
  std::vector<bool> spent;        // by output, if outputs are separate
  bool released = false;

 private:
  void release() noexcept;
};

/// Gives each output of the op that made `ys` its own backward. Then a second backward, through
/// other outputs than the first, does not count as a second backward of the same tape.
void separate_outputs(const std::vector<Tensor>& ys);

}  // namespace tandem::autograd
