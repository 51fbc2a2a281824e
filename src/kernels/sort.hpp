// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/for_each.hpp"
#include "kernels/view.hpp"

namespace tandem::kernels {

/// An order of elements; of equal ones the first comes first.
struct Ranking {
  bool largest_first;
  bool nan_first;
};

/// y (i64) = indices along `dim` of the first elements of x by `ranking`, in their order, as many
/// as y has there.
void topk(const HostStream& s, Ranking ranking, int dim, const View& x, const View& y);
void topk(const CudaStream& s, Ranking ranking, int dim, const View& x, const View& y);

}  // namespace tandem::kernels
