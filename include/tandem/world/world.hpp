// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tandem/world/launch.hpp"
#include "tandem/world/store.hpp"

namespace tandem::world {

class Watch;

/// What is common to all ways to meet.
struct WorldOptions {
  /// How long the meeting, and a wait in the store, may take.
  Store::Milliseconds timeout = Store::kTimeout;
  /// What all processes are to have alike, by name: the model, options, a version. The library's
  /// version is compared in any case.
  std::map<std::string, std::string> contract = {};
};

/// A process of the world.
struct Peer {
  int rank = 0;
  std::string host;
  int pid = 0;

  /// "process 2 on node1, pid 4711".
  std::string describe() const;
};

/// How a process's steady clock stands to process 0's.
struct ClockOffset {
  /// What is added to a moment of this process to get process 0's.
  std::chrono::microseconds offset{0};
  /// The most that the offset may be wrong by: half the time that question and answer took.
  std::chrono::microseconds error{0};
};

/// The processes that one launcher has started, once all of them have met.
///
/// The constructors return when all have come. They may be called from any thread, once in a
/// process; members may be used from any thread.
class World {
 public:
  /// Meets as the launcher says (read_launch). A process that no launcher has started is a world of
  /// its own.
  ///
  /// @throws InvalidArgument  the environment contradicts itself, or says not where to meet.
  /// @throws Timeout          not all have come in time; the text has the ranks that are missing.
  /// @throws Desync           two have the same rank, or differ in the contract; the text has both
  ///                          values. All processes get it.
  static World from_environment(const WorldOptions& options = {});
  /// Meets at a URL: env:// as above, tcp://HOST:PORT?rank=R&world_size=N, where rank 0 serves the
  /// store, file:///PATH?rank=R&world_size=N in a shared folder, or mpi://, where MPI says who this
  /// is and tells all where the store is. Rank and size are the launcher's where the URL has none.
  explicit World(const std::string& url, const WorldOptions& options = {});
  World(World&&) noexcept;
  World& operator=(World&&) noexcept;
  /// Waits until all others have left the store that this process serves, for ten seconds at most.
  ~World();

  int rank() const noexcept;
  int size() const noexcept;
  const Launch& launch() const noexcept;
  /// All processes, by rank.
  const std::vector<Peer>& peers() const noexcept;
  /// Its keys are this run's, also where the store is shared with others.
  Store& store() const noexcept;
  /// Where the other processes reach this one: a number, or this host's name.
  const std::string& host() const noexcept;
  /// The line on which the processes hear of each other's end; null in a world of one process.
  Watch* watch() const noexcept;
  /// What is the same in all processes of this run, and in no other run: process 0's host and pid,
  /// and a number.
  const std::string& run() const noexcept;
  /// Measured once, when the processes met; zero in process 0. None: process 0 did not answer.
  std::optional<ClockOffset> clock_offset() const noexcept;
  /// What others have made for this world, which ends with it: by name, made by the first who asks.
  std::shared_ptr<void> keep(const std::string& name,
                             const std::function<std::shared_ptr<void>()>& make);
  /// Returns when all processes have called it as often.
  /// @throws Timeout  the text has the ranks that are missing.
  void barrier();
  /// "rank 3 of 8 (local 1 of 4, node 0 of 2), started by torchrun; store at node1:29500".
  std::string describe() const;

 private:
  class Impl;

  std::unique_ptr<Impl> impl_;
};

}  // namespace tandem::world
