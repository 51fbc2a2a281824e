// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "tandem/ops/batch_norm.hpp"

namespace tandem::libtorch {

/// Where the masks of dropout come from.
enum class DropoutMask : std::uint8_t {
  /// The device's generator, as in PyTorch: masks differ with the devices and with their chunks.
  per_device,
  /// The row's index in the whole batch: the same masks on any devices, in any chunks. It holds for
  /// torch::nn::Dropout and torch::dropout of tensors that have the batch's rows in
  /// DataParallelOptions::dim, or a multiple of them. Other random ops (feature and alpha dropout,
  /// attention's own dropout_p, torch::rand) stay per device, of which a warning tells once.
  by_row,
};

/// What a backward through `dp(x)` gives a parameter that it does not reach, if it reaches others.
enum class UnusedGradients : std::uint8_t {
  none,   ///< No gradient, as on one device.
  zeros,  ///< Zeros, as torch.nn.DataParallel: an optimizer with momentum or decay moves it then.
};

/// What a wrapper needs to know of a module of PyTorch, beside DataParallelOptions.
template <class M>
struct ModuleOptions {
  /// Makes a module with the same parts, as `[] { return std::make_shared<Net>(config); }` does.
  /// Values need not be the same. Null: the module's clone() is called, and if it has none, its
  /// constructor without arguments.
  std::function<std::shared_ptr<M>()> make = nullptr;
  /// The statistics of batch norms that convert_sync_batchnorm has said nothing about: those of the
  /// whole batch, or, as in torch.nn.DataParallel, of each replica's rows.
  BatchNormSync batch_norm = BatchNormSync::synchronised;
  DropoutMask dropout = DropoutMask::per_device;
  UnusedGradients unused = UnusedGradients::none;
};

}  // namespace tandem::libtorch
