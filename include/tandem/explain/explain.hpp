// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <utility>

#include "tandem/explain/explanation.hpp"
#include "tandem/profile/step_record.hpp"

namespace tandem::parallel {

/// Explains what was recorded.
Explanation explain(const profile::StepRecord& record);

/// Explains what `step()` executes.
///
///     const auto why = parallel::explain([&] { dp.step(batch, loss, &optimizer); });
///     std::cout << why.text();
///
/// The braces may also hold `loss(dp(x), y).backward(); optimizer.step();`. The record contains
/// the work of all threads, so let nothing else run meanwhile.
template <std::invocable F>
Explanation explain(F&& step) {
  return explain(profile::record(std::forward<F>(step)));
}

}  // namespace tandem::parallel
