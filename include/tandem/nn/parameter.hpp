// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "tandem/tensor/tensor.hpp"

namespace tandem::nn {

/// The role of a tensor in its module.
enum class TensorKind : std::uint8_t {
  parameter,  ///< trained; optimizers, buckets and gradient hooks see it
  buffer,     ///< other state, which is saved, moved and merged, but never trained
};

/// A tensor that a module trains. List it as a member in TANDEM_MODULE.
///
/// A copy is the same tensor, so `head.weight = embed.weight` ties the two. A default-constructed
/// parameter is undefined; it stands for a part that the module does not have, such as a bias.
class Parameter : public Tensor {
 public:
  Parameter() = default;
  /// Makes a leaf that requires grad and shares `data`'s storage. From then on its bytes count in
  /// the category `parameter`.
  ///
  /// @throws InvalidArgument  if `data` is not a float tensor.
  Parameter(const Tensor& data);  // implicit: `weight = randn({4, 3})`
};

/// A tensor of a module's state that is not trained (running statistics, masks).
class BufferTensor : public Tensor {
 public:
  BufferTensor() = default;
  /// Shares `data`'s storage, off the tape. From then on its bytes count in the category `buffer`.
  BufferTensor(const Tensor& data);  // implicit, as Parameter
};

/// A tensor and its name in the state dict ("blocks.0.weight").
struct NamedTensor {
  std::string name;
  Tensor tensor;
};

}  // namespace tandem::nn
