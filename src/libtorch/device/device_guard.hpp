// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tandem::libtorch {

/// Tells PyTorch how many virtual devices there are, and how a thread chooses one. Their streams
/// run inline, so that events have always been reached. To be called once.
void register_device_guard();

}  // namespace tandem::libtorch
