// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/comm/collective.hpp"
#include "tandem/sim/cluster.hpp"

namespace tandem::sim {

/// What GPUs of one node make a ring of.
struct RingLinks {
  double bandwidth = 0;   ///< bytes/s that each GPU sends, over all rings
  bool is_chain = false;  ///< the links make no ring, but a chain
};

/// The links among GPUs 0 to n-1 of one node. @param n  at least 2
RingLinks ring_links(const Cluster& cluster, int n);

/// The factors of the constants in a ring's time: alpha0 + alpha1 x steps + nbytes x (volume +
/// kappa x extra) / (efficiency x bandwidth) + gamma x sqrt(nbytes x volume).
struct RingTerms {
  double steps = 0;
  double volume = 0;
  double extra = 0;
};

/// @param kind  one of those that CollectiveModel knows
/// @throws InvalidArgument  another one
RingTerms ring_terms(comm::Collective::Kind kind, int n, const RingLinks& links);

/// What an all-reduce inside the switch sends and receives of each byte: 1 + 1/n.
double nvls_volume(int n) noexcept;

}  // namespace tandem::sim
