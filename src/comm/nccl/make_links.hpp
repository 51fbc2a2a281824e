// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "comm/transport.hpp"

// NCCL, without its headers.
namespace tandem::comm {

/// NCCL at hand has several ranks on one GPU.
bool ranks_share_gpus();

/// NCCL among devices that are each on a GPU of its own, or ranks_share_gpus().
///
/// @throws DeviceError, Timeout
std::shared_ptr<Transport> make_links(std::vector<Device> devices,
                                      std::chrono::milliseconds timeout);

}  // namespace tandem::comm
