// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "tandem/optim/arena.hpp"

namespace tandem::parallel {

/// Where the reduced gradients are.
enum class GradientPlace : std::uint8_t {
  here,    ///< device 0 has all of them, or gets those that it uses
  spread,  ///< other devices have shares or copies
};

/// Changes the gradient of a place while device 0 has the whole of it: what other devices have of
/// it comes before, and is sent back after. Called on device 0's thread, while the others wait.
///
/// @param arena  device 0's.
void change_whole_gradient(const optim::Arena& arena,
                           std::size_t place,
                           GradientPlace where,
                           const std::function<void()>& change);

}  // namespace tandem::parallel
