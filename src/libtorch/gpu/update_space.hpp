// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include <ATen/core/Tensor.h>

#include "tandem/core/dtype.hpp"
#include "tandem/runtime/buffer.hpp"
#include "tandem/runtime/logical_device.hpp"

namespace tandem::libtorch {

/// Memory of a device for what an update computes in between: an update comes after a step's vote,
/// where memory must not be refused, so that it is taken before. It has a few numbers and some
/// arrays of a piece of the parameters.
class UpdateSpace {
 public:
  /// Elements that an update computes at once.
  static std::int64_t piece(DType t) noexcept;

  /// For updates of ranges of up to `nbytes` on the device, whose kernels find it for as long as
  /// the result lives: what is reserved already, if it is large enough. Thread-safe.
  ///
  /// @throws OutOfMemory
  static std::shared_ptr<UpdateSpace> reserve(LogicalDevice& device,
                                              std::size_t nbytes,
                                              int arrays);
  /// The one that was reserved, or, where nobody has, a new one. Thread-safe.
  static std::shared_ptr<UpdateSpace> of(LogicalDevice& device, std::size_t nbytes, int arrays);

  UpdateSpace(LogicalDevice& device, std::size_t nbytes, int arrays);
  /// Held while the ops of an update are queued, since updates of several threads share one: the
  /// stream then keeps them in order.
  std::unique_lock<std::mutex> hold() const { return std::unique_lock(in_use_); }

  /// n elements of an array, or of what follows it.
  at::Tensor array(int i, DType t, std::int64_t n) const;
  /// One of six numbers, without dimensions, of f64; and a boolean.
  at::Tensor number(int i) const;
  at::Tensor flag() const;

 private:
  at::Tensor scalar(DType t, std::int64_t i) const;

  mutable std::mutex in_use_;
  LogicalDevice& device_;
  std::size_t array_nbytes_;
  int arrays_;
  Buffer buffer_;
};

}  // namespace tandem::libtorch
