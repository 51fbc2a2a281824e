// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/profile/nvtx.hpp"

#include "tandem/config.hpp"
#include "tandem/core/check.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/runtime/dispatch.hpp"

#include "profile/cuda/nvtx_domain.hpp"

namespace tandem::profile {

NvtxRanges::NvtxRanges() {
  TANDEM_CHECK(has_cuda,
               "NvtxRanges: this build of tandem has no CUDA; configure with -D TANDEM_CUDA=ON, "
               "or look at a trace (profile::trace_json, tandem explain --trace)");
  TANDEM_CHECK(has_nvtx,
               "NvtxRanges: no nvtx3/nvToolsExt.h was found among CUDA's headers when this tandem "
               "was built; install it (cuda-nvtx) and configure again");
  if constexpr (has_nvtx) domain_ = NvtxDomain::open("tandem");
}

void NvtxRanges::on_work_begin(const Work& work, const Stream&) noexcept {
  if constexpr (has_nvtx) {
    if (domain_ != nullptr) domain_->push({context().phase, current_module_path(), work.name});
  }
}

void NvtxRanges::on_work_end(const Work&, const Stream&) noexcept {
  if constexpr (has_nvtx) {
    if (domain_ != nullptr) domain_->pop();
  }
}

}  // namespace tandem::profile
