// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "tandem/optim/arena.hpp"
#include "tandem/tensor/tensor.hpp"

namespace tandem::parallel {

/// Notes where one replica makes infinities and NaN, which the sum over the replicas does not show.
///
/// To be used on the replica's own thread.
class NonFiniteWatch {
 public:
  /// @param arena  of the gradients. It does not watch them yet.
  explicit NonFiniteWatch(std::shared_ptr<const optim::Arena> arena) : arena_(std::move(arena)) {}

  /// Watches gradients from here on. What was found before is forgotten.
  /// @cost  allocates and clears a number for each place.
  void start();
  /// Stops watching, and forgets what was found.
  void stop() noexcept { found_ = {}; }
  /// Looks at the gradient of `place`, which is complete; does nothing if it does not watch.
  /// @cost  a pass over the gradient.
  void look_at(std::size_t place) const {
    if (found_.defined()) look(place);
  }
  /// By place: not 0 if the replica made an infinity or NaN there; empty if it does not watch.
  /// Reads from the device.
  std::vector<double> found() const;

 private:
  void look(std::size_t place) const;

  std::shared_ptr<const optim::Arena> arena_;
  Tensor found_;  // by place; undefined: it does not watch
};

}  // namespace tandem::parallel
