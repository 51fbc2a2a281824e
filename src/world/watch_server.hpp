// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "tandem/world/address.hpp"

namespace tandem::world {

/// Passes on what the processes of a world say on their watches, and tells the others when one has
/// gone. Process 0 has it, with a thread of its own.
class WatchServer {
 public:
  /// @param host  where the processes reach it
  WatchServer(const std::string& host, int processes);
  /// Tells all that process 0 leaves.
  ~WatchServer();

  Address address() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tandem::world
