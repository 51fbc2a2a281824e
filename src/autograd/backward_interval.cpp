// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/autograd/backward_interval.hpp"

#include "tandem/autograd/tape_context.hpp"

#include "autograd/interval_calls.hpp"

namespace tandem::autograd::detail {

IntervalScope::IntervalScope(BackwardInterval interval)
    : scope_([&](Context& c) {
        change_tape_context(c, [&](TapeContext& t) {
          t.interval = std::make_shared<const IntervalMark>(
              IntervalMark{std::move(interval), std::move(t.interval)});
        });
      }) {}

}  // namespace tandem::autograd::detail
