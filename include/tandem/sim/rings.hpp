// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/sim/cluster.hpp"

namespace tandem::sim {

/// The number of rings that NVLinks between pairs make at once among GPUs 0 to n-1 of a node,
/// counting both directions: twice the most Hamiltonian cycles of which no two use the same link.
/// For two GPUs it is the number of links that join them.
///
/// @param n  from 2 to gpus.count
/// @return   0 if the links make no ring
/// @throws InvalidArgument  n is out of range, or the links do not join pairs.
/// @cost     a search, at most some milliseconds for 8 GPUs
int ring_count(const Cluster& cluster, int n);

/// Whether NVLinks join GPUs 0 to n-1 in a chain, of which each GPU is a part once. Arguments and
/// errors are those of `ring_count`.
bool has_chain(const Cluster& cluster, int n);

}  // namespace tandem::sim
