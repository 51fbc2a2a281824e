// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "tandem/tensor/tensor.hpp"

#include "libtorch/graph/replica_node.hpp"

namespace tandem::libtorch {

/// Differentiable ops of tandem: results from inputs. A result may be undefined.
using TapeFunction = std::function<std::vector<Tensor>(const std::vector<Tensor>& inputs)>;

/// Runs ops of tandem on a replica's tensors of PyTorch, as one node of PyTorch's graph.
///
/// No bytes are copied. The node's backward is tandem's, in the context of the forward call. With
/// create_graph it is a node of the same kind, whose function runs `f` again. So derivatives of any
/// order work as far as tandem's formulas are differentiable.
///
/// To be called in a replica's job.
/// @param name    of the node, for PyTorch's messages.
/// @param meets   whether `f` or its backward waits for other replicas.
/// @param inputs  dense tensors on the replica's device; undefined ones reach `f` as such.
/// @throws  what `f` throws. Backward: c10::Error if an input was changed in place, or if the graph
///          was released by an earlier backward.
std::vector<at::Tensor> run_on_tape(const char* name,
                                    Meets meets,
                                    TapeFunction f,
                                    const std::vector<at::Tensor>& inputs);

}  // namespace tandem::libtorch
