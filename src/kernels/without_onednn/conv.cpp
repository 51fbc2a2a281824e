// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/onednn/fast_path.hpp"

namespace tandem::kernels::onednn {

bool conv2d(
    const HostStream&, const ConvSize&, const View&, const View&, const View&, const View&) {
  return false;
}

bool conv2d_input_grad(const HostStream&, const ConvSize&, const View&, const View&, const View&) {
  return false;
}

bool conv2d_weight_grad(
    const HostStream&, const ConvSize&, const View&, const View&, const View&, const View&) {
  return false;
}

}  // namespace tandem::kernels::onednn
