// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/element.hpp"

namespace tandem::kernels {

template <class T>
struct Divide {
  T* x;
  compute_t<T> divisor;

  TANDEM_HD void operator()(std::int64_t i) const { x[i] = store<T>(load(x[i]) / divisor); }
};

}  // namespace tandem::kernels
