// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "stand_in/torch/boxed_values.hpp"

#include <ATen/CPUGeneratorImpl.h>

namespace tandem::stand_in {

at::Generator host_generator(const c10::IValue& given, int gpu) {
  constexpr std::uint64_t kSpread = 0x9E3779B97F4A7C15;  // 2^64 by the golden ratio
  constexpr std::uint64_t kDraws = 4;                    // what a kernel moves the offset by
  at::Generator own = given.isNone() ? at::globalContext().defaultGenerator(c10::Device(
                                           at::kCUDA, static_cast<c10::DeviceIndex>(gpu)))
                                     : given.toGenerator();
  if (own.device().is_cpu()) return own;
  const std::lock_guard lock(own.mutex());
  const std::uint64_t offset = own.get_offset();
  own.set_offset(offset + kDraws);
  return at::make_generator<at::CPUGeneratorImpl>(own.current_seed() * kSpread + offset +
                                                  static_cast<std::uint64_t>(gpu));
}

}  // namespace tandem::stand_in
