// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace tandem {

/// The vector instructions of the host's processor that kernels use, each with those before it.
enum class CpuCapability : std::uint8_t {
  baseline,     ///< x86-64-v2 or less, or another family of processors
  avx2,         ///< x86-64-v3: 256 bits, with fused multiply-adds
  avx512,       ///< x86-64-v4: 512 bits
  avx512_bf16,  ///< products of bf16
  amx,          ///< matrix tiles
};

/// "default", "avx2", "avx512", "avx512_bf16", "amx".
std::string_view name(CpuCapability capability) noexcept;

/// What kernels and the libraries of matrix products use (PyTorch's
/// torch.backends.cpu.get_cpu_capability): what the processor has, or less if the environment's
/// TANDEM_CPU_CAPABILITY names less. The same in the whole process and for all of its time, since
/// the bits of results depend on it.
///
/// Thread-safe; costs a load.
CpuCapability get_cpu_capability() noexcept;

}  // namespace tandem
