// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "tandem/tensor/tensor.hpp"

namespace tandem::optim {

class ArenaSharing;

/// The ranks that have shares of `params`; null if this program has all of each.
///
/// @throws InvalidArgument  ranks have shares of some of them, and others are whole.
std::shared_ptr<ArenaSharing> ranks_of(const std::vector<Tensor>& params);

/// The defined gradients of `params`, each once; those next to each other in an arena as one flat
/// tensor. Where ranks have shares of them, this rank's shares.
std::vector<Tensor> gradient_runs(const std::vector<Tensor>& params);

/// Sets `flag`, an i32 scalar, to 1 if `x`, which is dense, holds an infinity or NaN.
void find_nonfinite(const Tensor& x, const Tensor& flag);

/// Some element is an infinity or NaN. Reads the device; on a shape-only one all count as finite.
///
/// @param grads  dense
/// @param ranks  whose elements count as well, so that the call is collective; null: none.
bool has_nonfinite(const std::vector<Tensor>& grads, const ArenaSharing* ranks = nullptr);

}  // namespace tandem::optim
