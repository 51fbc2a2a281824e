// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "comm/processes/links.hpp"
#include "comm/signature.hpp"

namespace tandem::comm {

/// A collective of algorithm native as links know it, without its data; none: they have no words
/// for it or would lose a NaN, or it is of another algorithm.
///
/// An average is a sum, which is divided afterwards; a sum with factors is one of products.
std::optional<ProcessLinks::Native> native_call(const Signature& signature);

}  // namespace tandem::comm
