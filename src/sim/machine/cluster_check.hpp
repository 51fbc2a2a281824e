// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/sim/cluster.hpp"

namespace tandem::sim {

/// Parts of `check(cluster)`, which throw as it does.
void check_gpus(const Gpus& gpus);
void check_nvlink(const NvLinks& nvlink, const Gpus& gpus);
void check_pcie(const Pcie& pcie, const Gpus& gpus);
void check_between_nodes(const Cluster& cluster);
void check_collectives(const Cluster& cluster);

}  // namespace tandem::sim
