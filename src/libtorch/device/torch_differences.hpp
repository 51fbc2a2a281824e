// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What differs between versions of PyTorch, from 2.8 on, as far as sources have met it. No other
// source names a version.

#include <memory>
#include <type_traits>
#include <utility>

#include <torch/csrc/autograd/edge.h>
#include <torch/csrc/autograd/function.h>

#if __has_include(<torch/headeronly/version.h>)
#include <torch/headeronly/version.h>
#else  // before 2.9
#include <torch/version.h>
#endif

namespace tandem::libtorch {

/// What owns a node of PyTorch's graph: an intrusive pointer in newer versions, before them a
/// shared one.
using NodePointer = decltype(torch::autograd::Edge::function);

template <class N, class... Arguments>
auto make_node(Arguments&&... arguments) {
  if constexpr (std::is_same_v<NodePointer, std::shared_ptr<torch::autograd::Node>>)
    return std::make_shared<N>(std::forward<Arguments>(arguments)...);
  else
    return c10::make_intrusive<N>(std::forward<Arguments>(arguments)...);
}

}  // namespace tandem::libtorch
