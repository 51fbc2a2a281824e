// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "tandem/world/launch.hpp"
#include "tandem/world/store_server.hpp"
#include "tandem/world/tcp_store.hpp"

namespace tandem::world {

/// A store over TCP, and its server in the process that serves it.
struct OpenStore {
  std::unique_ptr<StoreServer> server;
  std::shared_ptr<TcpStore> client;
};

/// Opens the store that a launch names. Process 0 serves it, unless the launcher does or it serves
/// already.
///
/// If the port is taken that the job's number gives, process 0 takes the next one of the launch,
/// and the others look for the store that has the name of their run.
/// @throws InvalidArgument  the host is unknown, or all the ports are taken.
/// @throws Timeout          nobody serves it in time.
OpenStore open_store(const Launch& launch,
                     std::unique_ptr<StoreServer> server,
                     Store::Milliseconds timeout);

}  // namespace tandem::world
