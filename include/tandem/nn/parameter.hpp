// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "tandem/tensor/tensor.hpp"

namespace tandem::nn {

/// What a tensor is to its module.
enum class TensorKind : std::uint8_t {
  parameter,  ///< trained: optimizers, buckets and gradient hooks see it
  buffer,     ///< state beside the parameters: saved, moved and merged, never trained
};

/// A tensor that a module trains; as a member listed in TANDEM_MODULE.
///
/// Copies are the same tensor: `head.weight = embed.weight` ties the two. A default one is
/// undefined and stands for a part that the module does without (no bias).
class Parameter : public Tensor {
 public:
  Parameter() = default;
  /// A leaf over `data`'s storage that requires grad; its bytes count as parameter from here on.
  ///
  /// @throws InvalidArgument  `data` is not a float tensor.
  Parameter(const Tensor& data);  // implicit: `weight = randn({4, 3})`
};

/// A tensor that belongs to a module's state without being trained (running statistics, masks).
class BufferTensor : public Tensor {
 public:
  BufferTensor() = default;
  /// `data` off the tape; its bytes count as buffer from here on.
  BufferTensor(const Tensor& data);  // implicit, as Parameter
};

/// A tensor with its place in the state dict ("blocks.0.weight").
struct NamedTensor {
  std::string name;
  Tensor tensor;
};

}  // namespace tandem::nn
