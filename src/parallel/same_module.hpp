// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/comm/communicator.hpp"
#include "tandem/nn/module.hpp"

namespace tandem::parallel {

/// Holds each rank's module against rank 0's: names, dtypes and shapes of parameters and buffers,
/// in order, and which of them train. Called by every rank.
///
/// @throws Desync  on every rank where some differ: those that do have the first difference.
void check_same_module(nn::Module& module, comm::Communicator& comm);

}  // namespace tandem::parallel
