// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tandem::world {

/// Which of how many processes this one is, as MPI says.
struct MpiIdentity {
  int rank = 0, size = 1;
};

/// Starts MPI, by the plug-in libtandem-mpi.so.
///
/// @throws CommError  the plug-in is not there, or MPI does not start.
MpiIdentity identify_by_mpi();
/// Tells all processes of MPI what process 0 says. All call it.
///
/// @param text  of process 0
/// @return  the same in all
std::string tell_by_mpi(const std::string& text);

}  // namespace tandem::world
