// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/runtime/cpu_capability.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "tandem/core/check.hpp"

#include "runtime/asked_capability.hpp"

namespace tandem {
namespace {

constexpr std::array<std::string_view, 5> kNames{"default", "avx2", "avx512", "avx512_bf16", "amx"};

CpuCapability detect() noexcept {
#ifdef __x86_64__
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("x86-64-v3")) return CpuCapability::baseline;
  if (!__builtin_cpu_supports("x86-64-v4")) return CpuCapability::avx2;
  if (!__builtin_cpu_supports("avx512bf16")) return CpuCapability::avx512;
  return __builtin_cpu_supports("amx-bf16") ? CpuCapability::amx : CpuCapability::avx512_bf16;
#else
  return CpuCapability::baseline;
#endif
}

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
