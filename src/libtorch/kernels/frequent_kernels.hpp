// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tandem::libtorch {

/// Registers the ops that a step of an ordinary model calls most, so that they do not go through
/// the boxed fallback. They do what it does. To be called once.
///
/// @cost  about a microsecond an op.
void register_frequent_kernels();

}  // namespace tandem::libtorch
