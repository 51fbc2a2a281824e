// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tandem/profile/step_record.hpp"

namespace tandem::profile {

struct Span {
  Duration begin, end;
};

/// The same moments in spans that are apart, in order.
std::vector<Span> merged(std::vector<Span> spans);

}  // namespace tandem::profile
