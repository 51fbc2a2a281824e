// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "optim/state_layout.hpp"

namespace tandem::optim::detail {

/// Reads a parameter's state, which is allocated, to the host: in its shape, row-major. Devices
/// that share it each give their part, so that none needs memory for all of it; ranks that share it
/// all get it, and all have to call.
void read_state(const StateLayout& layout,
                const Member& member,
                const std::string& name,
                std::span<std::byte> out);

/// The way back.
void write_state(StateLayout& layout,
                 const Member& member,
                 const std::string& name,
                 std::span<const std::byte> bytes);

}  // namespace tandem::optim::detail
