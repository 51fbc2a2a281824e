// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "comm/record_origin.hpp"

#include <unistd.h>

#include "core/host_name.hpp"

namespace tandem::comm {

RecordOrigin::RecordOrigin(const world::World* world) {
  if (world == nullptr) {
    processes.push_back({0, host_name(), ::getpid()});
    return;
  }
  run = world->run();
  process = world->rank();
  processes = world->peers();
  clock = world->clock_offset();
}

}  // namespace tandem::comm
