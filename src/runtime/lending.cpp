// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/runtime/lending.hpp"

#include <utility>

namespace tandem {

Lending::Lending(AdoptedMemory memory) noexcept
    : is_adopted_(true),
      is_read_only_(memory.is_read_only),
      was_shared_(true),
      give_back_(std::move(memory.give_back)) {}

void Lending::lend() noexcept {
  was_shared_.store(true, std::memory_order_relaxed);
  loans_.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace tandem
