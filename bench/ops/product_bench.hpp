// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/runtime/device.hpp"

namespace tandem::bench {

/// Adds the products of product_bench.cpp, whose sizes are those that suit `device`.
void register_products(Device device);

}  // namespace tandem::bench
