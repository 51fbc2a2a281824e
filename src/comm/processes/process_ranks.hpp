// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "tandem/comm/group.hpp"

namespace tandem::comm {

/// This process's ranks of a group of all processes of options.world. The processes tell each other
/// their devices.
///
/// @throws InvalidArgument  a device is not on the host.
/// @throws CommError, Timeout  see ProcessMesh; or a process makes no group.
std::vector<std::unique_ptr<Communicator>> make_process_ranks(std::span<const Device> devices,
                                                              GroupOptions options);

}  // namespace tandem::comm
