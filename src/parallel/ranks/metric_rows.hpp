// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tandem/comm/communicator.hpp"
#include "tandem/tensor/tensor.hpp"

namespace tandem::parallel {

/// Rank::gather_for_metrics.
Tensor gather_metric_rows(comm::Communicator& comm, const Tensor& rows, std::int64_t repeated);

}  // namespace tandem::parallel
