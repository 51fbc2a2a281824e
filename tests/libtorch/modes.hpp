// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "tandem/parallel/options.hpp"

namespace tandem::libtorch::test {

/// The modes for PyTorch's modules: those that leave them their memory.
inline constexpr std::array kModes{
    parallel::Mode::classic, parallel::Mode::server, parallel::Mode::sharded, parallel::Mode::ddp};

}  // namespace tandem::libtorch::test
