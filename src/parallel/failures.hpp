// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <exception>
#include <vector>

namespace tandem::parallel {

/// It only tells that another device failed.
bool is_secondary(const std::exception_ptr& error);

/// The first of `errors`, which may be null but not all, that is a cause; else the first.
std::size_t cause_among(const std::vector<std::exception_ptr>& errors);

}  // namespace tandem::parallel
