// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>

#include "tandem/runtime/buffer.hpp"

namespace tandem {

/// When bytes were under way between two devices.
struct CopyTimes {
  using Moment = std::chrono::steady_clock::time_point;
  static Moment now() noexcept { return std::chrono::steady_clock::now(); }

  Moment begin;
  Moment end;
};

/// As count_copy of dispatch.hpp, with the times.
void count_copy(Device source,
                const Buffer& target,
                std::size_t nbytes,
                const CopyTimes& times) noexcept;

}  // namespace tandem
