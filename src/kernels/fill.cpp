// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/fill.hpp"

#include "kernels/fill.inl"
#include "kernels/map.hpp"

namespace tandem::kernels {

void fill(const HostStream& s, double value, const View& y) {
  if (!s.computes) return;
  fill_elements(s, value, y);
}

template void arange(const HostStream&, double, double, const View&);

}  // namespace tandem::kernels
