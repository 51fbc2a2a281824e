// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "steps/case.hpp"

namespace tandem::steps {

/// A case as small as possible that still fails.
///
/// @param fails  whether a case does.
/// @cost  about a hundred calls of `fails`.
Case shrink(Case c, const std::function<bool(const Case&)>& fails);

}  // namespace tandem::steps
