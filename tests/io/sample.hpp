// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tandem::testing {

/// Ten tensors of six types, as the reference implementation writes them (data/make_samples.py).
inline const std::string kSample = TANDEM_IO_TEST_DATA "/sample.safetensors";

}  // namespace tandem::testing
