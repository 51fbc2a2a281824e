// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tandem/comm/communicator.hpp"

#include "parallel/replicas/device/replica_source.hpp"

namespace tandem::parallel {

/// Compares each rank's module with rank 0's: names, dtypes and shapes of parameters and buffers,
/// in order, and which of them train. Called by every rank.
///
/// @param wrapper  what the module is wrapped in, for the text.
/// @throws Desync  on every rank, if any rank's module differs. On the ranks that differ, the text
///                 has the first difference.
void check_same_module(ReplicaSource& module, comm::Communicator& comm, const std::string& wrapper);

}  // namespace tandem::parallel
