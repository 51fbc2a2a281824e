// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "tandem/autograd/autograd.hpp"
#include "tandem/runtime/generator.hpp"

namespace tandem::autograd {

class CheckpointState;

/// A tensor that an op in a checkpoint saved. It is freed after the forward and made again in
/// backward.
struct SavedSlot {
  std::shared_ptr<CheckpointState> checkpoint;
  std::weak_ptr<TensorImpl> original;
  Shape shape;
  DType dtype = DType::f32;
  std::uint64_t version = 0;  // of the original, later of `made`
  Tensor made;                // by the second run
};

/// A part of a forward that backward runs again. Only the tape keeps its slots, so a tensor is
/// freed when the last op that needs it has run.
class CheckpointState : public std::enable_shared_from_this<CheckpointState> {
 public:
  explicit CheckpointState(std::function<void()> again);

  /// In the first run, returns a new slot for `x`; in the second run, the same slot, filled.
  std::shared_ptr<SavedSlot> keep(const Tensor& x);
  /// The tensor of a slot. Runs the forward again if the tensor was freed.
  const Tensor& get(SavedSlot& slot);
  /// Called when the first run has ended.
  void finish();

 private:
  void run_again();

  std::function<void()> again_;
  std::shared_ptr<const Context> context_;
  // Position of the random numbers; none outside of a module's call.
  std::optional<ForwardFrame> position_;
  GeneratorState numbers_;  // before the first run
  // Lanes of several devices may ask at once. A module that reads what it has just saved asks from
  // within the second run, so the mutex is recursive.
  std::recursive_mutex mutex_;  // guards what is below
  std::vector<std::weak_ptr<SavedSlot>> slots_;
  std::size_t next_ = 0;  // next slot in the second run
  bool finished_ = false;
};

}  // namespace tandem::autograd
