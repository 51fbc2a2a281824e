// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/autograd/backward_interval.hpp"

#include "autograd/interval_calls.hpp"

namespace tandem::autograd::detail {

IntervalScope::IntervalScope(BackwardInterval interval)
    : scope_([&](Context& c) {
        c.interval = std::make_shared<const IntervalMark>(
            IntervalMark{std::move(interval), std::move(c.interval)});
      }) {}

}  // namespace tandem::autograd::detail
