// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/runtime/generator.hpp"

#include <type_traits>

#include "tandem/runtime/context.hpp"

namespace tandem {

GeneratorState Generator::get_state() const noexcept {
  return {
      seed(), forwards_.load(std::memory_order_relaxed), draws_.load(std::memory_order_relaxed)};
}

void Generator::set_state(const GeneratorState& state) noexcept {
  seed_.store(state.seed, std::memory_order_relaxed);
  forwards_.store(state.forwards, std::memory_order_relaxed);
  draws_.store(state.draws, std::memory_order_relaxed);
}

Generator& default_generator() noexcept {
  // Threads may outlive main.
  static_assert(std::is_trivially_destructible_v<Generator>);
  static Generator process;
  Generator* const own = context().generator.get();
  return own == nullptr ? process : *own;
}

}  // namespace tandem
