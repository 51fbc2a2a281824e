// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "tandem/comm/communicator.hpp"
#include "tandem/comm/group.hpp"

#include "comm/shared_transport.hpp"

namespace tandem::comm {

/// Makes the ranks of a new group of this process's devices.
///
/// @param transport  of GPUs; null: their own kernels and copies.
/// @throws InvalidArgument  the group's algorithm does not exist or refuses the group.
std::vector<std::unique_ptr<Communicator>> make_ranks(std::span<const Device> devices,
                                                      GroupOptions options,
                                                      std::shared_ptr<SharedTransport> transport);

}  // namespace tandem::comm
