// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/runtime/cpu_capability.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

#ifdef __x86_64__
#include <cpuid.h>
#endif

#include "tandem/core/check.hpp"

#include "runtime/asked_capability.hpp"

namespace tandem {
namespace {

constexpr std::array<std::string_view, 5> kNames{"default", "avx2", "avx512", "avx512_bf16", "amx"};

#ifdef __x86_64__
/// Matrix tiles of bf16, of which the processor says that it has them.
bool has_amx() noexcept {
  constexpr unsigned kTiles = 1U << 24U, kBf16 = 1U << 22U;
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & kTiles) != 0 && (d & kBf16) != 0;
}

CpuCapability detect() noexcept {
  __builtin_cpu_init();
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                  __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  const bool v4 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  if (!v3) return CpuCapability::baseline;
  if (!v4) return CpuCapability::avx2;
  if (!__builtin_cpu_supports("avx512bf16")) return CpuCapability::avx512;
  return has_amx() ? CpuCapability::amx : CpuCapability::avx512_bf16;
}
#else
CpuCapability detect() noexcept {
  return CpuCapability::baseline;
}
#endif

/// The place of what TANDEM_CPU_CAPABILITY names; behind the last if it is not set, or no name.
std::size_t place_asked() noexcept {
  const char* const text = std::getenv("TANDEM_CPU_CAPABILITY");
  const auto* const at = std::ranges::find(kNames, text == nullptr ? "" : text);
  return static_cast<std::size_t>(at - kNames.begin());
}

}  // namespace

std::string_view name(CpuCapability capability) noexcept {
  return kNames[static_cast<std::size_t>(capability)];
}

CpuCapability get_cpu_capability() noexcept {
  static const CpuCapability kUsed =
      std::min(detect(), static_cast<CpuCapability>(std::min(place_asked(), kNames.size() - 1)));
  return kUsed;
}

void check_asked_capability() {
  const char* const text = std::getenv("TANDEM_CPU_CAPABILITY");
  TANDEM_CHECK(
      text == nullptr || place_asked() < kNames.size(),
      "TANDEM_CPU_CAPABILITY '",
      text,
      "': expected default, avx2, avx512, avx512_bf16 or amx; unset it to use all that the "
      "processor has");
}

}  // namespace tandem
