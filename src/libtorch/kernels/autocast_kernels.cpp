// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/kernels/autocast_kernels.hpp"

#include <ATen/autocast_mode.h>

#include "libtorch/kernels/kernel_library.hpp"

namespace tandem::libtorch {

void register_autocast_kernels() {
  constexpr auto kKey = c10::DispatchKey::AutocastPrivateUse1;
  kernel_library("_", kKey).fallback(torch::CppFunction::makeFallthrough());
  torch::Library& m = kernel_library("aten", kKey);
#define TANDEM_LOWER(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, lower_precision_fp)
#define TANDEM_F32(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32)
#define TANDEM_F32_BY_DTYPE(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32_set_opt_dtype)
#define TANDEM_PROMOTE(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, promote)
  AT_FORALL_LOWER_PRECISION_FP(TANDEM_LOWER)
  AT_FORALL_FP32(TANDEM_F32)
  AT_FORALL_FP32_SET_OPT_DTYPE(TANDEM_F32_BY_DTYPE)
  AT_FORALL_PROMOTE(TANDEM_PROMOTE)
#undef TANDEM_LOWER
#undef TANDEM_F32
#undef TANDEM_F32_BY_DTYPE
#undef TANDEM_PROMOTE
}

}  // namespace tandem::libtorch
