// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "tandem/world/launch.hpp"

namespace tandem::world {

/// Where processes meet, and as which.
struct MeetingPlace {
  Launch launch;        ///< its store is the address of tcp://
  std::string path;     ///< of file://; "": there is none
  bool by_mpi = false;  ///< MPI says who this is, and tells all where the store is
};

/// What a URL says, and the launcher where the URL says nothing.
///
/// @param launched  none: no launcher has started this process.
/// @throws InvalidArgument  the URL is none of World's, or says too little.
MeetingPlace read_url(const std::string& url, const std::optional<Launch>& launched);

}  // namespace tandem::world
