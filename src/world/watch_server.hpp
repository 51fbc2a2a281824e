// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "tandem/world/address.hpp"

namespace tandem::world {

/// Passes on what the processes of a world say on their watches, and tells the others when one has
/// gone. Process 0 has it, with a thread of its own.
///
/// A process is who says so with the word of the run. What others say is passed over: the
/// time is told to everybody, and who has not said the word after ten seconds, or says more than
/// that takes, is dropped, as is the oldest of many.
class WatchServer {
 public:
  /// @param host  where the processes reach it
  /// @param word  that its processes know, and nobody else
  WatchServer(const std::string& host, int processes, std::string word = {});
  /// Tells all that process 0 leaves.
  ~WatchServer();

  Address address() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tandem::world
