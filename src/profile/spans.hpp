// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tandem/profile/step_record.hpp"

namespace tandem::profile {

struct Span {
  Duration begin, end;
};

/// Merges overlapping spans; sorted.
std::vector<Span> merged(std::vector<Span> spans);

}  // namespace tandem::profile
