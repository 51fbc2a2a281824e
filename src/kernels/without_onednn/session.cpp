// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/onednn/fast_path.hpp"

namespace tandem::kernels::onednn {

bool is_linked() noexcept {
  return false;
}

}  // namespace tandem::kernels::onednn
