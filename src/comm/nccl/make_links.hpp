// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "comm/transport.hpp"

// Access to NCCL that does not need NCCL's headers.
namespace tandem::comm {

/// Whether this NCCL allows several ranks on one GPU.
bool ranks_share_gpus();

/// An NCCL transport among devices, each on its own GPU unless ranks_share_gpus().
///
/// @throws DeviceError, Timeout
std::shared_ptr<Transport> make_links(std::vector<Device> devices,
                                      std::chrono::milliseconds timeout);

}  // namespace tandem::comm
