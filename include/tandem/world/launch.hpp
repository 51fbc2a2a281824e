// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tandem/world/address.hpp"

namespace tandem::world {

/// What the launcher of this process says: which of how many it is, and where they meet.
struct Launch {
  std::string launcher;  ///< "torchrun", "srun", "mpirun", "horovodrun", "PMI", "tandem launch", or
                         ///< "environment" for RANK and WORLD_SIZE that somebody else has set
  int rank = 0, size = 1;
  int local_rank = 0, local_size = 1;  ///< among the processes of this node
  int node = 0, nodes = 1;
  /// Where the store is. None: MPI knows, or the user says it.
  std::optional<Address> store = std::nullopt;
  /// Where the store may be instead, at the same host, if its port is another program's.
  std::vector<std::uint16_t> other_ports = {};
  /// Whether the launcher serves the store; otherwise rank 0 does.
  bool launcher_serves = false;
  std::string run = {};  ///< the job's name, where it has one: keys of two runs are apart
  int restart = 0;       ///< how often the launcher has started the processes again

  /// "rank 3 of 8 (local 1 of 4, node 0 of 2), started by torchrun; store at node1:29500".
  std::string describe() const;
};

/// The value of an environment variable; none: it is not set.
using GetVariable = std::function<std::optional<std::string>(const char* name)>;

/// Variables of this process.
std::optional<std::string> environment_variable(const char* name);

/// What the environment says. None: no launcher has started this process.
///
/// The launchers are, the innermost first: tandem launch and torchrun (RANK, WORLD_SIZE), mpirun of
/// Open MPI, horovodrun, MPICH and Intel MPI (PMI_*), srun. One of them may run in a task of
/// another, which then counts for nothing.
/// @throws InvalidArgument  a variable is missing beside others, or is not a number in its range,
///                          or two launchers of as many processes give this one different ranks;
///                          the text names the variables and both values.
/// @source docs/processes.md
std::optional<Launch> read_launch(const GetVariable& get = environment_variable);

}  // namespace tandem::world
