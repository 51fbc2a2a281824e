// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "report/comparison.hpp"

namespace tandem::report {

/// How the modes of a comparison differ: what each is for, what it divides, who updates and who
/// waits for whom, with the memory and the bytes that were measured. "" if fewer than two modes of
/// the comparison have several devices.
std::string mode_table(const Comparison& comparison);

}  // namespace tandem::report
