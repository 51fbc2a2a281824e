// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tandem/nn/activation.hpp"
#include "tandem/nn/batch_norm.hpp"
#include "tandem/nn/conv2d.hpp"
#include "tandem/nn/dropout.hpp"
#include "tandem/nn/linear.hpp"
#include "tandem/nn/sequential.hpp"

namespace tandem::nn::models {

enum class VggNorm : std::uint8_t { none, batch };

struct VggOptions {
  std::int64_t channels = 3;
  std::int64_t classes = 1000;
  std::int64_t width = 64;     ///< channels of the first convolutions
  std::int64_t hidden = 4096;  ///< features of the hidden layers
  std::int64_t pooled = 7;     ///< rows and columns that the hidden layers see
  double dropout = 0.5;
  VggNorm norm = VggNorm::none;
  BatchNormSync sync = BatchNormSync::synchronised;
  DType dtype = DType::f32;
  Device device = get_default_device();
};

/// The convolutions of a Vgg, under the names that a flat list of layers gives them: ReLU and
/// pooling count.
class VggFeatures : public Module {
 public:
  explicit VggFeatures(const VggOptions& options);
  Tensor forward(const Tensor& x);

  /// A 3x3 convolution with what follows it.
  struct Unit {
    std::int64_t position;  ///< of the convolution in the list
    Conv2d conv;
    std::optional<BatchNorm2d> norm;
    bool pool;
  };
  std::vector<Unit> units;

  const char* type_name() const noexcept override { return "VggFeatures"; }
  void visit_members(MemberVisitor& visitor) override;
  template <class... Args>
  auto operator()(Args&&... args) {
    return detail::call(*this, std::forward<Args>(args)...);
  }
};

/// The network of 16 layers with torchvision's structure, names and initial weights: 13
/// convolutions and three linear layers.
///
/// @source Simonyan and Zisserman, "Very deep convolutional networks for large-scale image
///         recognition", ICLR 2015, configuration D.
class Vgg16 : public Module {
 public:
  explicit Vgg16(const VggOptions& options = {});

  /// @param x  (N, channels, H, W), H and W at least 32. @return (N, classes): logits.
  /// @throws InvalidArgument  smaller images.
  Tensor forward(const Tensor& x);

  VggFeatures features;
  Sequential<Linear, ReLU, Dropout, Linear, ReLU, Dropout, Linear> classifier;
  TANDEM_MODULE(Vgg16, features, classifier)

 private:
  std::int64_t pooled_;
};

}  // namespace tandem::nn::models
