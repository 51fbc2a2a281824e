// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tandem/comm/group.hpp"

#include "comm/transport_cache.hpp"

namespace tandem::comm {

/// Why these devices of one process cannot exchange by the backend, with what to do; empty: they
/// can.
std::string backend_refusal(std::span<const Device> devices, Backend backend);

/// The transport that the options' backend needs; null for the local one.
///
/// @throws InvalidArgument, DeviceError, Timeout  as make_group
std::shared_ptr<SharedTransport> make_transport(std::span<const Device> devices,
                                                const GroupOptions& options);

/// As make_group, with the cache's transport among the devices.
std::vector<std::unique_ptr<Communicator>> make_group(std::span<const Device> devices,
                                                      GroupOptions options,
                                                      TransportCache& cache);

}  // namespace tandem::comm
