// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tandem::comm {

/// What moves the data of a group.
enum class Backend : std::uint8_t {
  /// On the host, the ranks' threads. Among GPUs, including logical ones, tandem's kernels and peer
  /// copies.
  local,
  /// NCCL, for groups of GPUs.
  ///
  /// Ranks meet, compare their calls, wait and fail as with local. The last rank to arrive gives
  /// NCCL the calls of all ranks as one group, so that a rank's part of a collective never runs on
  /// its GPU without the other ranks' parts. NCCL chooses the order in which values are combined:
  /// the bits may depend on the number of ranks, the count and NCCL's version. What NCCL cannot do
  /// is done as with local: bitwise reductions, minima and maxima of floats (which must be NaN if
  /// any rank has a NaN), and algorithms chosen by name.
  nccl,
  /// gloo's connections (TCP), for groups of host devices that span processes
  /// (GroupOptions::world).
  gloo,
  /// MPI's messages, likewise: for programs that mpirun or srun --mpi has started.
  mpi,
};

/// "local", "nccl", "gloo", "mpi".
const char* name(Backend backend) noexcept;
/// The backend of that name; nothing if there is no such backend.
std::optional<Backend> parse_backend(std::string_view name) noexcept;

}  // namespace tandem::comm
