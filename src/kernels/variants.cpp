// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/variants.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "tandem/runtime/cpu_capability.hpp"

namespace tandem::kernels {

// Made by cmake/enter_kernels.cmake where the library has several variants. It also has the
// function below called before what other files do at the program's start; until then the least one
// answers.
extern "C" {
extern const void* const tandem_kernel_tables[];  // of each variant, the addresses of its kernels
extern const void* tandem_kernel_table;           // the chosen one, that calls go through
void tandem_choose_kernels() noexcept;
}

namespace {

constexpr std::array kVariants = std::to_array<std::string_view>({TANDEM_KERNELS});

/// Of what has this level's name; of another name, such as native, nothing is asked.
constexpr CpuCapability needed_by(std::string_view variant) {
  if (variant == "x86-64-v4") return CpuCapability::avx512;
  return variant == "x86-64-v3" ? CpuCapability::avx2 : CpuCapability::baseline;
}

/// The best one that the processor has.
[[maybe_unused]] std::size_t choose() noexcept {
  const auto runs = [](std::string_view v) { return needed_by(v) <= get_cpu_capability(); };
  const auto beyond = std::find_if_not(kVariants.begin(), kVariants.end(), runs);
  return static_cast<std::size_t>(std::max<std::ptrdiff_t>(1, beyond - kVariants.begin())) - 1;
}

}  // namespace

std::string_view variant() noexcept {
  std::size_t i = 0;
  if constexpr (kVariants.size() > 1) {
    while (tandem_kernel_tables[i] != tandem_kernel_table)
      ++i;
  }
  return kVariants[i];
}

void tandem_choose_kernels() noexcept {
  if constexpr (kVariants.size() > 1) tandem_kernel_table = tandem_kernel_tables[choose()];
}

}  // namespace tandem::kernels
