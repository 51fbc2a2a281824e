// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tandem/core/check.hpp"
#include "tandem/ops/conv.hpp"

namespace tandem::nn {

/// Throws InvalidArgument unless a layer can be made of these sizes.
inline void check_conv_sizes(
    const char* layer, std::int64_t in, std::int64_t out, Pair kernel, std::int64_t groups) {
  TANDEM_CHECK(in > 0 && out > 0 && kernel[0] > 0 && kernel[1] > 0,
               layer,
               ": sizes must be positive, got in ",
               in,
               ", out ",
               out,
               ", kernel ",
               kernel[0],
               " x ",
               kernel[1]);
  TANDEM_CHECK(groups > 0 && in % groups == 0 && out % groups == 0,
               layer,
               ": ",
               groups,
               " groups do not divide the ",
               in,
               " input channels and ",
               out,
               " output channels");
}

}  // namespace tandem::nn
